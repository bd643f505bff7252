/** Deaths of the process and limits of the system, in their short forms. */
import { PROCESS_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(PROCESS_CAMPAIGNS);
