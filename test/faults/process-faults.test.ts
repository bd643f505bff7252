/** The short forms of the campaigns in which the process dies or reaches a limit. */
import { PROCESS_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(PROCESS_CAMPAIGNS);
