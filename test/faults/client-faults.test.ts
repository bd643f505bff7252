/** The short forms of the campaigns in which clients disturb each other. */
import { CLIENT_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(CLIENT_CAMPAIGNS);
