// Formats amounts and times, and labels states.

import { threeDecimal, wholeInHundredths, zeroDecimal } from "./currencies.js";

const number = new Intl.NumberFormat("en-GB");
export const count = (n) => number.format(n ?? 0);

/** `1 lane is`, `2 lanes are`. */
export const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

/** Formats an amount in its smallest unit: `€10.99`. */
export function money(amount, currency) {
  if (amount === undefined || amount === null) return "";
  if (!currency) return count(amount);
  const digits = zeroDecimal.has(currency) ? 0 : threeDecimal.has(currency) ? 3 : 2;
  const shown = wholeInHundredths.has(currency) && amount % 100 === 0 ? 0 : digits;
  try {
    return new Intl.NumberFormat("en-GB", {
      style: "currency", currency: currency.toUpperCase(),
      minimumFractionDigits: shown, maximumFractionDigits: shown,
    }).format(amount / 10 ** digits);
  } catch {
    return `${count(amount)} ${currency}`;
  }
}

const methods = {
  ideal: "iDEAL", sepa_debit: "SEPA debit", card: "Card", three_d_secure: "Card (3-D Secure)",
  bancontact: "Bancontact", giropay: "giropay", sofort: "Sofort", eps: "EPS", p24: "Przelewy24",
  multibanco: "Multibanco", wechat: "WeChat Pay", wechat_pay: "WeChat Pay", alipay: "Alipay",
  klarna: "Klarna", ach_credit_transfer: "ACH transfer", sepa_credit_transfer: "SEPA transfer",
  customer_balance: "Bank transfer", us_bank_account: "ACH debit", ach_debit: "ACH debit", blik: "BLIK", konbini: "Konbini",
  oxxo: "OXXO", boleto: "Boleto", pix: "Pix", paypal: "PayPal", bitcoin: "Bitcoin",
};
/** The label of a payment method. */
export const method = (name) => methods[name] ?? plain(name ?? "");

/** Replaces underscores: `partially_paid` becomes `partially paid`. */
export const plain = (text) => String(text ?? "").replaceAll("_", " ");
export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const sentence = (text) => {
  const words = String(text ?? "").trim();
  // A command keeps its lower-case letter.
  const text_ = /^poller(ctl|d) /.test(words) ? words : upper(words);
  return /[.!?…]$/.test(text_) || !text_ ? text_ : `${text_}.`;
};

/** Formats a duration: `350 ms`, `42 s`, `7 min`. */
export function span(ms) {
  const n = Math.max(0, ms);
  if (n < 1000) return `${Math.round(n)} ms`;
  if (n < 120000) return `${Math.round(n / 1000)} s`;
  if (n < 7200000) return `${Math.round(n / 60000)} min`;
  return n < 172800000 ? `${Math.round(n / 3600000)} h` : `${Math.round(n / 86400000)} d`;
}

/** Formats a time relative to now: `7 min ago`, `in 42 s`, `now`. */
export function ago(text) {
  const ms = Date.now() - new Date(text);
  if (Math.abs(ms) < 2000) return "now";
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
/** The time zone of the browser: `Europe/Berlin`. */
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
/** A date and time without the year: `24 Nov, 11:26`. */
export const dayTime = (text) => short.format(new Date(text));
export const timeOfDay = (text) => clock.format(new Date(text));
export const dayOf = (text) => day.format(new Date(text));
export const moment = (text) => whole.format(new Date(text));

/** A time for a sentence, without the date when it is today. */
export const when = (text) =>
  new Date(text).toDateString() === new Date().toDateString() ? `at ${timeOfDay(text)}` : `on ${moment(text)}`;

/** Payment states: label, colour, sentence. */
export const payments = {
  awaiting_customer: ["Waiting", "", "The customer has not paid yet."],
  processing: ["Processing", "info", "The bank is processing the payment. The money has not arrived yet."],
  authorised: ["Authorised", "info", "The customer has approved the payment. The money has not been captured yet."],
  paid: ["Paid", "good", "The money has arrived."],
  partially_paid: ["Partially paid", "careful", "Less than the full amount has arrived."],
  failed: ["Failed", "bad", "The payment failed. No money has arrived."],
  expired: ["Expired", "quiet", "The customer did not pay in time."],
  cancelled: ["Cancelled", "quiet", "The payment was cancelled."],
  refunded: ["Refunded", "careful", "The payment was refunded to the customer."],
  partially_refunded: ["Partially refunded", "careful", "Part of the payment was returned to the customer."],
  disputed: ["Disputed", "bad", "The customer disputed the payment with their bank."],
  reversed: ["Reversed", "bad", "The bank reversed the payment."],
  unknown: ["Unknown", "careful", "The state of the payment is unknown."],
};

/** States of a refund that has not succeeded: label, colour, predicate of a sentence. */
export const refunds = {
  pending: ["Pending", "careful", "is pending, and the money has not been sent yet"],
  requires_action: ["Requires action", "careful", "needs the customer's bank details"],
  failed: ["Failed", "bad", "failed, and the money is back with the shop"],
  canceled: ["Cancelled", "careful", "was cancelled, and the shop keeps the money"],
};

/** Reasons why a watch was closed. */
export const closings = {
  settled: "Polling has stopped.",
  reached: "The requested state was reached.",
  expired: "The customer did not pay in time. Polling has stopped.",
  cancelled: "The watch was cancelled. The payment itself was not changed.",
  gone: "The upstream has no such payment.",
  dead: "Polling failed repeatedly. The payment is in quarantine.",
};

/** Whether a watch expired without an answer to its last poll, so the payment state is unknown. */
export const isBlind = (watch) => watch.closed_reason === "expired" && (!watch.status || Boolean(watch.last_error));

/** "The customer did not pay" is said only when the last poll was answered. */
function unknownOutcome({ status, last_error: error }) {
  const [, refused, cause] = /^(credentials refused: )?(.*)$/s.exec(error ?? "");
  const why = !error ? "it was never polled"
    : `${status ? "the last poll" : "every poll"} ${refused ? "was refused" : "failed"} (${cause})`;
  return `We could not find out whether it was paid: ${why}. Polling has stopped. Poll again to find out.`;
}

/** Why a watch was closed. For received money the upstream still sends refund and dispute events. */
export const closing = (watch) => isBlind(watch) ? unknownOutcome(watch) : watch.closed_reason === "settled" && watch.kind !== "http"
  && ["paid", "partially_paid", "partially_refunded"].includes(watch.payment?.state)
  ? "Polling has stopped. Refunds and disputes are still reported." : closings[watch.closed_reason];

/** Next steps of the customer. */
export const steps = {
  none: "Nothing", follow_link: "Follow the link to the bank", transfer: "Send a bank transfer",
  pay_voucher: "Pay the voucher", scan_code: "Scan the code", approve_in_app: "Approve it in the bank's app",
  enter_code: "Enter the code they received", verify_microdeposits: "Confirm two small deposits",
  await_debit: "Wait for the debit", give_refund_account: "Give an account for the refund",
  return_to_shop: "Return to the shop", choose_method: "Choose another payment method",
};

const deliveryStates = {
  waiting: ["Waiting", ""], in_flight: ["Sending", "info"], failing: ["Failing", "careful"],
  dead: ["Dead letter", "bad"], done: ["Delivered", "good"],
};
export const delivery = (state) => deliveryStates[state] ?? [upper(plain(state)), ""];

const laneStates = {
  paused: ["Paused", "careful"], open: ["No answer", "bad"], probing: ["Probing", "careful"],
  held: ["Backing off", "careful"], slowed: ["Slowed", "careful"], flowing: ["Flowing", "good"],
};
/** The state of a lane. Without workers no lane is flowing. */
export const lane = (state, workers) =>
  workers === 0 && ["flowing", "slowed"].includes(state) ? ["No worker", "bad"] : laneStates[state] ?? [upper(plain(state)), ""];

/** Formats a rate limit: `20/s, bursts of 5, 20 at once`. */
export function limit(rule) {
  const rate = rule.rate === 0 ? "no rate limit" : `${count(rule.rate)}/s, bursts of ${count(rule.burst)}`;
  return rule.concurrency >= 1000000 ? rate : `${rate}, ${count(rule.concurrency)} at once`;
}

/** A URL without its scheme: an email address, or host and path of a webhook. */
export const place = (url) => String(url ?? "").replace(/^(https?:\/\/|mailto:)/, "");
