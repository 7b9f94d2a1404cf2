import JSONText
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI

// Facts that an object does not contain, read in the same poll.
//
// | observed | additional request |
// |---|---|
// | a charge that is, or was, disputed | its disputes, because the charge shows no more |
// | an authorised charge, watched as `ch_…`, with an intent | the intent: since 2025-03-31.basil the charge does not show that its authorisation was cancelled or has expired |
// | an authorised charge without an intent, after a hint about its money | the events `charge.expired` since its creation |
// | a charge whose refunds are possible in two API versions | the charge with its balance transaction and refunds (``RefundedSums``) |
//
// For an intent these requests are sent only after its money has been received, because an open intent has no such
// facts. If the key cannot read them, only the facts of the object itself are reported.

extension StripeUpstream {
    /// Returns the observation with the additional facts, read by `end`, or the reason why the poll must be repeated.
    @inline(never)
    func completed(
        _ seen: Observation,
        _ watch: Watch,
        until end: ContinuousClock.Instant
    ) async throws(StripeError) -> PollResult {
        guard let object = seen.object, let client = accounts.client(for: watch.key.account) else {
            return .observed(seen)
        }
        let facts = PaymentFacts(watch.key.kind, object: object)
        var seen = seen
        // A state on which the object and its charge disagree is not final.
        if facts.isContradictory { seen.rank = .pending }
        guard !client.isPublishable, let charge = facts.charge, let id = charge.id else {
            return .observed(seen)
        }
        let ofCharge = [("charge", "\(id)"), ("limit", "100")]
        if charge.dispute == .claimed {
            switch try await read("/v1/disputes", ofCharge, watch, client, until: end) {
            case .read(let disputes): seen.lists.disputes = disputes
            case .again(let result): return result
            }
        }
        if charge.lacksRefunds {
            switch try await read("/v1/refunds", ofCharge, watch, client, until: end) {
            case .read(let refunds): seen.lists.refunds = refunds
            case .again(let result): return result
            }
        }
        if watch.key.kind == .charge, charge.isHeld {
            if let intent = facts.intent {
                let path = "/v1/payment_intents/\(intent)"
                switch try await read(path, [], watch, client, until: end) {
                case .read(let intent): seen.intent = intent
                case .again(let result): return result
                }
            } else if watch.isReview || watch.pendingHint == .money {
                let since = charge.created.map { "\($0.ms / 1000)" } ?? "0"
                let lapses = [
                    ("type", "charge.expired"), ("created[gte]", since), ("limit", "100"),
                ]
                switch try await read("/v1/events", lapses, watch, client, until: end) {
                case .read(let events): seen.hasLapsed = events?.names(charge: id) ?? false
                case .again(let result): return result
                }
            }
        }
        if charge.isRefundDoubtful {
            let members = [("expand[]", "balance_transaction"), ("expand[]", "refunds")]
            switch try await read("/v1/charges/\(id)", members, watch, client, until: end) {
            case .read(let whole): seen.charge = whole
            case .again(let result): return result
            }
        }
        return .observed(seen)
    }

    func mayBeIncomplete(_ seen: Observation, _ watch: Watch) -> Bool {
        switch watch.key.kind {
        case .charge: true
        case .paymentIntent:
            watch.isReview || watch.pendingHint == .money || seen.status.description == "succeeded"
        case .source, .setupIntent, .http, .other: false
        }
    }

    /// The result of an additional request.
    private enum AdditionalRead {
        /// The object, or `nil` if this key cannot read it.
        case read(RawJSON?)
        /// No usable response now, and the object alone could be misleading.
        case again(PollResult)
    }

    private func read(
        _ path: String,
        _ query: [(String, String)],
        _ watch: Watch,
        _ client: StripeClient,
        until end: ContinuousClock.Instant
    ) async throws(StripeError) -> AdditionalRead {
        let left = max(ContinuousClock.now.duration(to: end), .zero)
        let request = try client.readingPages.getRequest(path, query: query)
        let reply = try await polls.send(request, timeout: left)
        guard (200..<300).contains(reply.status) else {
            // Only Stripe itself can report that this key cannot read the object, or that it does not exist.
            let result = result(of: reply, for: watch)
            switch result {
            case .unauthorized, .gone: return .read(nil)
            default: return .again(result)
            }
        }
        if let reason = ContentType.objection(
            to: reply.headers.first(name: "content-type"),
            encodedAs: reply.headers.first(name: "content-encoding")
        ) {
            return .again(.malformed(reason))
        }
        let text = String(validating: Array(reply.body.readableBytesView), as: UTF8.self)
        // Every Stripe object has an `object` member, and so does a list.
        guard let object = text.flatMap({ RawJSON($0) }), object.member("object")?.string != nil
        else { return .again(.malformed("the related object is not a Stripe object")) }
        return .read(object)
    }
}

extension RawJSON {
    /// Whether a list of events contains one about a charge.
    fileprivate func names(charge id: ChargeID) -> Bool {
        (member("data")?.elements ?? []).contains { event in
            event.member("data")?.member("object")?.member("id")?.string == "\(id)"
        }
    }
}

extension ChargeFacts {
    /// Whether its money is authorised but not captured, as far as the charge itself shows.
    fileprivate var isHeld: Bool { status == .succeeded && captured == 0 && !isReleased }
}
