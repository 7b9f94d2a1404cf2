import PollerIdentity
package import PollerPayments
import PollerQueue
import PollerWatches

/// The outcome of one poll, on which ``PollDecider`` decides: the upstream's answer, or the result of the
/// ``FollowUp`` that acted on it.
///
/// A follow-up acts on an observation only, so its case carries that observation. The rare cases are indirect, so that
/// the usual one is small: an outcome is copied several times.
package enum PollOutcome: Hashable, Sendable {
    /// The answer about the watched object.
    case answer(PollResult)
    /// The answer about the charge of a source, which was read instead of the source.
    indirect case chargeAnswer(ChargeID, PollResult)
    /// The result of charging a source, or of the search for its charge.
    indirect case charged(Observation, ChargeResult)
    /// The result of capturing or cancelling a payment before its deadline.
    indirect case acted(Observation, DeadlineAct, SettleResult)
    /// The refund of a duplicate payment must be tried again.
    indirect case refundPostponed(Observation, String, retryAfter: Duration?)

    /// The upstream's answer.
    package var result: PollResult {
        switch self {
        case .answer(let result), .chargeAnswer(_, let result): result
        case .charged(let seen, _), .acted(let seen, _, _), .refundPostponed(let seen, _, _):
            .observed(seen)
        }
    }

    /// Whether the poll has read everything that the watch's hint is about.
    ///
    /// A source does not contain its charge, so the hint stays until the charge was read or found.
    func coversHint(of context: PollContext, _ decision: Decision<WatchChange>) -> Bool {
        let watch = context.watch
        guard watch.pendingHint != nil, case .observed = result else { return false }
        switch self {
        case .answer:
            return watch.isReview || watch.key.kind != .source || context.observedCharge != nil
        case .chargeAnswer: return true
        case .charged(_, .made):
            // The next poll still has to read the disputes of a charge without an order.
            if case .next = decision.verdict, watch.charge == nil { return false }
            return true
        case .charged, .acted, .refundPostponed: return false
        }
    }

    /// Whether the poll has sent a charge of the watched source that was made, refused, or may have been made.
    ///
    /// The charge of a source that is not chargeable was only searched, and that of a watch without a charge too.
    func hasCharged(_ watch: Watch) -> Bool {
        guard case .charged(let seen, let result) = self, watch.charge != nil,
            seen.status == .chargeable
        else { return false }
        return switch result {
        case .made, .declined, .unauthenticated, .indeterminate: true
        case .incomplete, .postponed: false
        }
    }
}
