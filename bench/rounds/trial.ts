/** Set by the tests: everything runs, at toy size, and its figures mean nothing. */
export const isTrial = process.env["BENCH_TRIAL"] === "1";
