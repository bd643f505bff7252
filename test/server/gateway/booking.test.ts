/** The tests of booking, run through a gateway: the promises are the same. */
import "../../support/gateway/through.ts";
import "../routes/booking.test.ts";
import "../routes/booking-input.test.ts";
import "../routes/booking/check.test.ts";
import "../routes/booking/representation.test.ts";
import "../routes/v1/booking.test.ts";
