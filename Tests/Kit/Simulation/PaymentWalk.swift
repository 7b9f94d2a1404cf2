import JSONText
import Poller
import PollerIdentity
import PollerPayments
import PollerQueue
package import PollerWatches

/// A payment with random valid responses of an upstream and a bank, decided by the real ``PollDecider``.
///
/// It is for tests of the text about a payment.
package struct PaymentWalk {
    /// A payment method as Stripe documents it; whether a consumed source of it is paid.
    private struct Method {
        let type: String
        let usage: String?
        let settlesAtOnce: Bool
    }

    private static let methods = [
        Method(type: "ideal", usage: "single_use", settlesAtOnce: true),
        Method(type: "multibanco", usage: "single_use", settlesAtOnce: true),
        Method(type: "alipay", usage: "single_use", settlesAtOnce: true),
        Method(type: "alipay", usage: "reusable", settlesAtOnce: false),
        Method(type: "sofort", usage: "single_use", settlesAtOnce: false),
        Method(type: "klarna", usage: "single_use", settlesAtOnce: false),
        Method(type: "sepa_debit", usage: "reusable", settlesAtOnce: false),
        Method(type: "card", usage: "reusable", settlesAtOnce: false),
        Method(type: "newpay", usage: "single_use", settlesAtOnce: false),
        Method(type: "ideal", usage: nil, settlesAtOnce: false),
    ]
    private static let statuses: [SourceKind: [String]] = [
        .source: ["pending", "chargeable", "consumed", "canceled", "failed"],
        .paymentIntent: [
            "requires_payment_method", "requires_action", "processing", "requires_capture",
            "succeeded", "canceled",
        ],
        .setupIntent: ["requires_payment_method", "processing", "succeeded", "canceled"],
    ]
    /// A charge, which is not a source, regardless of its fields.
    private static let charge = RawJSON(
        unchecked: #"{"object":"charge","type":"ideal","usage":"single_use"}"#
    )
    private static let finals: Set<String> = ["consumed", "canceled", "failed", "succeeded"]

    private let kind: SourceKind
    private let method: Method
    private let goal: WatchGoal
    private var state = WatchState()
    private var seq = 0
    private var now = VirtualTime.start
    private var closed: ClosedReason?
    private var lastEvent: Event?
    /// Whether a charge or payment intent succeeded, or an immediately settled source was consumed.
    package private(set) var isPaid = false

    /// Creates a payment that was never polled.
    package init(using generator: inout some RandomNumberGenerator) {
        let kinds: [SourceKind] = [.source, .source, .source, .paymentIntent, .setupIntent]
        kind = kinds[Int.random(in: 0..<kinds.count, using: &generator)]
        method = Self.methods[Int.random(in: 0..<Self.methods.count, using: &generator)]
        goal = WatchGoal.allCases[Int.random(in: 0..<WatchGoal.allCases.count, using: &generator)]
    }

    /// The watch as readers see it.
    package var snapshot: WatchSnapshot {
        WatchSnapshot(
            watch: watch,
            closed: closed,
            nextPollAt: nil,
            lastError: nil,
            notify: [],
            metadata: "",
            lastEvent: lastEvent
        )
    }

    /// Polls until an event is recorded; `nil` once the watch has closed.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Event? {
        while closed == nil {
            now = now + .milliseconds(Int64.random(in: 1...10_000_000, using: &generator))
            let decision = poll(using: &generator)
            state = decision.change.state
            if case .close(let reason) = decision.verdict { closed = reason }
            guard let event = decision.change.event else { continue }
            seq = event.seq
            lastEvent = event
            return event
        }
        return nil
    }

    private var watch: Watch {
        Watch(
            WatchKey("\(kind.prefixes.first ?? "")1", kind: kind),
            goal: goal,
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(86_400),
            seq: seq,
            charge: kind == .source ? .whole : nil,
            state: state
        )
    }

    private mutating func poll(
        using generator: inout some RandomNumberGenerator
    ) -> Decision<WatchChange> {
        let decider = PollDecider()
        switch Int.random(in: 0..<(kind == .source ? 5 : 3), using: &generator) {
        case 0:
            let failures: [PollResult] = [
                .unavailable("503", retryAfter: nil), .lockTimeout, .gone, .malformed("half"),
            ]
            let failure = failures[Int.random(in: 0..<failures.count, using: &generator)]
            return decider.decide(
                PollContext(watch, at: now),
                .answer(failure),
                using: &generator
            )
        case 3:
            let seen = look(using: &generator)
            return decider.decide(
                PollContext(watch, at: now),
                .charged(seen, charged(using: &generator)),
                using: &generator
            )
        case 4 where state.charge.charge != nil && !state.charge.isSettled:
            let status = bank(using: &generator)
            if status == .succeeded { isPaid = true }
            let seen = Observation(
                status: SourceStatus(unchecked: status.rawValue),
                final: status != .pending,
                object: Self.charge
            )
            return decider.decide(
                PollContext(watch, at: now),
                .chargeAnswer(state.charge.charge ?? ChargeID(unchecked: "ch_1"), .observed(seen)),
                using: &generator
            )
        default:
            return decider.decide(
                PollContext(watch, at: now),
                .answer(.observed(look(using: &generator))),
                using: &generator
            )
        }
    }

    private mutating func look(using generator: inout some RandomNumberGenerator) -> Observation {
        let statuses = Self.statuses[kind] ?? []
        let status = statuses[Int.random(in: 0..<statuses.count, using: &generator)]
        // Occasionally larger than an event may carry.
        let isShown = Int.random(in: 0..<8, using: &generator) > 0
        let isSettled =
            kind == .source && status == "consumed" && method.settlesAtOnce && isShown
        if isSettled || (kind == .paymentIntent && status == "succeeded") { isPaid = true }
        let usage = method.usage.map { #","usage":"\#($0)""# } ?? ""
        return Observation(
            status: SourceStatus(unchecked: status),
            final: Self.finals.contains(status),
            object: isShown
                ? RawJSON(unchecked: #"{"type":"\#(method.type)"\#(usage),"livemode":true}"#) : nil,
            detail: Bool.random(using: &generator) ? "" : "a"
        )
    }

    private mutating func charged(using generator: inout some RandomNumberGenerator) -> ChargeResult
    {
        let status = bank(using: &generator)
        let results: [ChargeResult] = [
            .declined(code: "card_declined"), .indeterminate("500"),
            .postponed("429", retryAfter: nil), .incomplete(received: 1, wanted: 2),
        ]
        guard Bool.random(using: &generator) else {
            return results[Int.random(in: 0..<results.count, using: &generator)]
        }
        let id = ChargeID(unchecked: "ch_1")
        if status == .succeeded { isPaid = true }
        return .made(ObservedCharge(id: id, status: status, object: Self.charge))
    }

    private func bank(using generator: inout some RandomNumberGenerator) -> ObservedCharge.Status {
        let all: [ObservedCharge.Status] = [.pending, .succeeded, .failed]
        return all[Int.random(in: 0..<3, using: &generator)]
    }
}
