/** The short forms of the campaigns in which the disk fails. */
import { DISK_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(DISK_CAMPAIGNS);
