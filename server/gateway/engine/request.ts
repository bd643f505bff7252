/** A request that came over a link in its general form, as the front takes it. */
import type { BookingKind } from "../../../engine/commands.ts";
import { bookingPath } from "../../routing/booking-request.ts";
import { Exchange, NO_BODY } from "../../wire/front.ts";
import type { RequestHeadText } from "../link-layout.ts";

const NO_HEAD: RequestHeadText = {
  method: "post",
  path: "",
  query: "",
  apiKey: "",
  authorization: "",
  organizationId: "",
  contentType: "",
  contentEncoding: "",
  idempotencyKey: null,
  prefer: "",
  repeatedHeader: "",
  requestId: "",
  address: "",
};

export class LinkRequest extends Exchange {
  /** As commands: a repetition waits for the first, which may have come over a lost link. */
  override readonly waits = true;
  readonly address: () => string;

  /** @param body - It is read in the same turn. */
  constructor({ address, ...head }: RequestHeadText, body: Buffer) {
    super();
    Object.assign(this, head);
    this.address = () => address;
    this.body = body;
  }

  static withoutKey(call: BookingKind): LinkRequest {
    return new LinkRequest({ ...NO_HEAD, path: bookingPath(call) }, NO_BODY);
  }

  /** Its answer is returned, not sent. */
  respond(): void {}
}
