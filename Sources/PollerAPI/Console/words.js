// How things are written: sums, times, and what states are called by people.

import { threeDecimal, wholeInHundredths, zeroDecimal } from "./currencies.js";

const number = new Intl.NumberFormat("en-GB");
export const count = (n) => number.format(n ?? 0);

/** `1 lane is`, `2 lanes are`. */
export const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

/** A sum in its smallest unit, as people write it: `€10.99`. */
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
  customer_balance: "Bank transfer", us_bank_account: "ACH debit", blik: "BLIK", konbini: "Konbini",
  oxxo: "OXXO", boleto: "Boleto", pix: "Pix", paypal: "PayPal", bitcoin: "Bitcoin",
};
/** A way to pay, as people know it. */
export const method = (name) => methods[name] ?? plain(name ?? "");

/** `partially_paid` as words. */
export const plain = (text) => String(text ?? "").replaceAll("_", " ");
export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const sentence = (text) => {
  const words = String(text ?? "").trim();
  // A command is not a word that begins a sentence.
  const told = /^poller(ctl|d) /.test(words) ? words : upper(words);
  return /[.!?…]$/.test(told) || !told ? told : `${told}.`;
};

/** A span: `350 ms`, `42 s`, `7 min`. */
export function span(ms) {
  const n = Math.max(0, ms);
  if (n < 1000) return `${Math.round(n)} ms`;
  if (n < 120000) return `${Math.round(n / 1000)} s`;
  if (n < 7200000) return `${Math.round(n / 60000)} min`;
  return n < 172800000 ? `${Math.round(n / 3600000)} h` : `${Math.round(n / 86400000)} d`;
}

/** How long ago, or how soon: `7 min ago`, `in 42 s`, `now`. */
export function ago(text) {
  const ms = Date.now() - new Date(text);
  if (Math.abs(ms) < 2000) return "now";
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
/** Where the clock of this page's times is: `Europe/Berlin`. */
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
/** A moment of the last months: `24 Nov, 11:26`. */
export const dayTime = (text) => short.format(new Date(text));
export const timeOfDay = (text) => clock.format(new Date(text));
export const dayOf = (text) => day.format(new Date(text));
export const moment = (text) => whole.format(new Date(text));

/** A moment for a sentence: without its date when that is today. */
export const when = (text) =>
  new Date(text).toDateString() === new Date().toDateString() ? `at ${timeOfDay(text)}` : `on ${moment(text)}`;

/** What is true of the money: a word, how it is coloured, and a sentence. */
export const payments = {
  awaiting_customer: ["Waiting", "", "The customer has not paid yet."],
  processing: ["Processing", "info", "The bank is working on it; the money is not there yet."],
  authorised: ["Authorised", "info", "The customer has approved it; the money is still to be collected."],
  paid: ["Paid", "good", "The money has arrived."],
  partially_paid: ["Partly paid", "careful", "Less has arrived than was asked for."],
  failed: ["Failed", "bad", "The payment has failed; no money has arrived."],
  expired: ["Expired", "quiet", "The customer has not paid in time."],
  cancelled: ["Cancelled", "quiet", "The payment was cancelled."],
  refunded: ["Refunded", "careful", "The money has gone back to the customer."],
  partially_refunded: ["Partly refunded", "careful", "A part of the money has gone back to the customer."],
  disputed: ["Disputed", "bad", "The customer disputes the payment at the bank."],
  reversed: ["Reversed", "bad", "The bank has taken the money back."],
  unknown: ["Unknown", "careful", "What has become of the money is not known."],
};

/** A refund that has not succeeded: a word, how it is coloured, and what it means for its sum. */
export const refunds = {
  pending: ["Pending", "careful", "is pending: the money has not been sent yet"],
  requires_action: ["Waits for the customer", "careful", "waits for the customer to say where the money goes"],
  failed: ["Failed", "bad", "has failed: the money is with the shop again"],
  canceled: ["Cancelled", "careful", "was cancelled: the money stays with the shop"],
};

/** Why a watch was closed. */
export const closings = {
  settled: "It is not polled any more.",
  reached: "It has reached what was waited for.",
  expired: "Nobody has paid in time; it is not looked at any more.",
  cancelled: "Somebody has stopped the watching; the payment itself was not touched.",
  gone: "The upstream knows no such payment.",
  dead: "It could not be looked at and is in quarantine.",
};

/** Whether a watch ended without an answer: what has become of the money is not known. */
export const isBlind = (watch) => watch.closed_reason === "expired" && (!watch.status || Boolean(watch.last_error));

/** That nobody has paid is said only of what could be seen. */
function blindness({ status, last_error: error }) {
  const [, refused, cause] = /^(credentials refused: )?(.*)$/s.exec(error ?? "");
  const why = !error ? "no look has seen it"
    : `${status ? "the last look" : "every look"} ${refused ? "was refused" : "failed"} (${cause})`;
  return `We could not find out whether it was paid: ${why}. It is not looked at any more; look again to find out.`;
}

/** What closing a watch means for what may come: of money that has arrived the upstream tells by itself. */
export const closing = (watch) => isBlind(watch) ? blindness(watch) : watch.closed_reason === "settled" && watch.kind !== "http"
  && ["paid", "partially_paid", "partially_refunded"].includes(watch.payment?.state)
  ? "It is not polled any more; refunds and disputes are still told." : closings[watch.closed_reason];

/** What the customer has to do. */
export const steps = {
  none: "Nothing", follow_link: "Follow the link to the bank", transfer: "Send a bank transfer",
  pay_voucher: "Pay the voucher", scan_code: "Scan the code", approve_in_app: "Approve it in the bank's app",
  enter_code: "Enter the code they were sent", verify_microdeposits: "Confirm two small deposits",
  await_debit: "Wait for the debit", give_refund_account: "Say where the money goes back to",
  return_to_shop: "Come back to the shop", choose_method: "Choose another way to pay",
};

const deliveryStates = {
  waiting: ["Waiting", ""], in_flight: ["Being sent", "info"], failing: ["Failing", "careful"],
  dead: ["Given up", "bad"], done: ["Delivered", "good"],
};
export const delivery = (state) => deliveryStates[state] ?? [upper(plain(state)), ""];

const laneStates = {
  paused: ["Paused", "careful"], open: ["No answer", "bad"], probing: ["Probing", "careful"],
  held: ["Held", "careful"], slowed: ["Slowed", "careful"], flowing: ["Flowing", "good"],
};
/** How a lane stands; nothing flows where no worker is. */
export const lane = (state, workers) =>
  workers === 0 && ["flowing", "slowed"].includes(state) ? ["No worker", "bad"] : laneStates[state] ?? [upper(plain(state)), ""];

/** A limit in words: `20/s, bursts of 5, 20 at once`. */
export function limit(told) {
  const rate = told.rate === 0 ? "no rate" : `${count(told.rate)}/s, bursts of ${count(told.burst)}`;
  return told.concurrency >= 1000000 ? rate : `${rate}, ${count(told.concurrency)} at once`;
}

/** A URL without what is the same in all: the address of a mail, the host and path of a hook. */
export const place = (url) => String(url ?? "").replace(/^(https?:\/\/|mailto:)/, "");
