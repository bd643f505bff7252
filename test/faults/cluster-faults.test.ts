/** The short forms of the campaigns in which a host of a cluster is lost. */
import { CLUSTER_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(CLUSTER_CAMPAIGNS);
