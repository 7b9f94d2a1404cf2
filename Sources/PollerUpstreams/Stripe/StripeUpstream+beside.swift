import JSONText
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity
import StripeAPI

// What an object does not show by itself, read in the same poll.
//
// | seen | read beside it |
// |---|---|
// | a charge that is, or was, disputed | its disputes: the charge says no more |
// | the charge of a hold, watched as `ch_…`, with an intent | the intent: since 2025-03-31.basil the charge does not show that its hold was cancelled or has expired |
// | the charge of a hold without one, when there is news of its money | the events `charge.expired` since it was made |
// | a charge whose refunds fit two versions of the API | the charge with its balance transaction and its refunds (``RefundedSums``) |
//
// Of an intent these are read where its money has come: an intent that goes on says nothing of them. A key that may not
// read them is told as much as the object itself says.

extension StripeUpstream {
    /// What was seen, with what had to be read beside it, by `end`; in place of it why that must be repeated.
    func completed(
        _ seen: Observation,
        _ watch: Watch,
        _ client: StripeClient,
        until end: ContinuousClock.Instant
    ) async throws(StripeError) -> PollResult {
        guard let object = seen.object, mayBeIncomplete(seen, watch) else { return .observed(seen) }
        let facts = PaymentFacts(watch.key.kind, object: object)
        var seen = seen
        // What the object and its charge do not agree about is not final.
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
            } else if watch.isReview || watch.news == .money {
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

    private func mayBeIncomplete(_ seen: Observation, _ watch: Watch) -> Bool {
        switch watch.key.kind {
        case .charge: true
        case .paymentIntent:
            watch.isReview || watch.news == .money || seen.status.description == "succeeded"
        case .source, .setupIntent, .http, .other: false
        }
    }

    /// What was read beside an object.
    private enum Beside {
        /// Nil where this key may not read it.
        case read(RawJSON?)
        /// It has no usable answer now, and what the object says by itself could be wrong.
        case again(PollResult)
    }

    private func read(
        _ path: String,
        _ query: [(String, String)],
        _ watch: Watch,
        _ client: StripeClient,
        until end: ContinuousClock.Instant
    ) async throws(StripeError) -> Beside {
        let left = max(ContinuousClock.now.duration(to: end), .zero)
        let reply = try await client.get(path, query: query, over: polls, timeout: left)
        guard (200..<300).contains(reply.status) else {
            // Only Stripe itself can say that this key may not read it, or that it does not exist.
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
        // Every object of Stripe's says which it is; a list is one of them.
        guard let object = text.flatMap({ RawJSON($0) }), object.member("object")?.string != nil
        else { return .again(.malformed("what was read beside it is no object of Stripe's")) }
        return .read(object)
    }
}

extension RawJSON {
    /// Whether a list of events has one about a charge.
    fileprivate func names(charge id: ChargeID) -> Bool {
        (member("data")?.elements ?? []).contains { event in
            event.member("data")?.member("object")?.member("id")?.string == "\(id)"
        }
    }
}

extension ChargeFacts {
    /// Whether its money is held, as far as the charge itself shows.
    fileprivate var isHeld: Bool { status == .succeeded && captured == 0 && !isReleased }
}
