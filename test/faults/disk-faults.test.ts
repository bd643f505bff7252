/** Faults of the disk, in their short forms. */
import { DISK_CAMPAIGNS } from "./campaigns.ts";
import { testShortForms } from "./short-forms.ts";

testShortForms(DISK_CAMPAIGNS);
