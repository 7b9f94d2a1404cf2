import JSONText
import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

/// A payment reader with facts for each object name.
struct NamedObjects: PaymentReader {
    var known: [String: PaymentFacts]

    func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts? {
        var facts = known(object)
        facts?.seenAt = seenAt
        if let charge { facts?.charge = known(charge)?.charge }
        return facts
    }

    private func known(_ object: RawJSON) -> PaymentFacts? {
        object.member("name")?.string.flatMap { known[$0] }
    }

    static func object(_ name: String) -> RawJSON {
        RawJSON(unchecked: #"{"name":"\#(name)"}"#)
    }
}

/// A watch between polls, as a store keeps it.
struct PaymentScenario {
    var watch: Watch
    var reader = NamedObjects(known: [:])
    var recorded: [Event] = []
    private var now = VirtualTime.start
    /// The close reason before the reopen, and the `seq` at which a hint reopened the watch.
    private var endedAs: ClosedReason?
    private var reopenedSeq: Int?
    private var pendingHint: HintTopic?
    private var hintedAt: Timestamp?
    private(set) var closed: ClosedReason?

    init(
        _ kind: SourceKind = .source,
        state: WatchState = WatchState(),
        charge: ChargeInstruction? = nil
    ) {
        watch = Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: kind),
            createdAt: VirtualTime.start,
            deadline: VirtualTime.start + .seconds(86_400),
            charge: charge,
            state: state
        )
    }

    /// The charge that the same poll observed.
    var observedCharge: Observation?

    var context: PollContext {
        var context = PollContext(watch, at: now, payments: reader)
        context.observedCharge = observedCharge
        return context
    }

    /// Whether the upstream has an event about the end of a hold.
    var hasLapsed = false

    func seen(_ status: String, _ object: String, rank: StatusRank = .pending) -> Observation {
        var seen = Observation(
            status: SourceStatus(unchecked: status),
            rank: rank,
            object: NamedObjects.object(object),
            digest: object
        )
        seen.hasLapsed = hasLapsed
        return seen
    }

    /// Polls, and returns the types of the events.
    mutating func look(
        _ status: String,
        _ object: String,
        rank: StatusRank = .pending
    ) -> [String] {
        var generator = SeededGenerator(seed: 7)
        let result = PollResult.observed(seen(status, object, rank: rank))
        return take(PollDecider().decide(context, .answer(result), using: &generator))
    }

    mutating func charge(
        _ result: ChargeResult,
        _ status: String,
        _ object: String,
        rank: StatusRank = .pending
    ) -> [String] {
        var generator = SeededGenerator(seed: 7)
        let seen = seen(status, object, rank: rank)
        return take(PollDecider().decide(context, .charged(seen, result), using: &generator))
    }

    mutating func follow(_ id: ChargeID, _ status: String, _ object: String) -> [String] {
        var generator = SeededGenerator(seed: 7)
        let result = PollResult.observed(seen(status, object, rank: .final))
        return take(PollDecider().decide(context, .chargeAnswer(id, result), using: &generator))
    }

    mutating func pollWithoutResponse(after: Duration) -> [String] {
        now = now + after
        var generator = SeededGenerator(seed: 7)
        let result = PollResult.unavailable("503", retryAfter: nil)
        return take(PollDecider().decide(context, .answer(result), using: &generator))
    }

    private mutating func take(_ decision: Decision<WatchChange>) -> [String] {
        let change = decision.change
        #expect(
            change.events.map(\.seq)
                == Array(watch.seq + 1..<watch.seq + 1 + change.events.count)
        )
        #expect(change.events.dropLast().allSatisfy { $0.closed == nil && !$0.final })
        recorded += change.events
        if case .close(let reason) = decision.verdict { closed = reason }
        keep(change.state, change.payment ?? watch.payment, seq: watch.seq + change.events.count)
        now = now + .seconds(10)
        return change.events.map(\.type)
    }

    /// Closes the watch, as after polls that are not simulated.
    mutating func end(as reason: ClosedReason) {
        closed = reason
    }

    /// Reopens the watch for a hint, as a store does.
    ///
    /// `ago` is the age of the hint. By default it is so old that a poll without a change is the last one.
    mutating func reopen(ago: Duration = .seconds(30)) {
        (endedAs, reopenedSeq, closed) = (closed, watch.seq, nil)
        hintedAt = now + (.zero - ago)
        keep(watch.state, watch.payment, seq: watch.seq)
    }

    /// Adds a hint to the open watch, as a store does.
    mutating func hint(_ pendingHint: HintTopic) {
        self.pendingHint = pendingHint
        keep(watch.state, watch.payment, seq: watch.seq)
    }

    /// The purpose of the next poll.
    var step: ChargeStep { ChargeStep(watch) }

    private mutating func keep(_ state: WatchState, _ memory: PaymentMemory?, seq: Int) {
        watch = Watch(
            key: watch.key,
            policy: watch.policy,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: 1,
            seq: seq,
            reopenedSeq: reopenedSeq,
            endedAs: endedAs,
            pendingHint: pendingHint,
            hintedAt: hintedAt,
            charge: watch.charge,
            state: state,
            // In its packed form, as a store keeps it.
            payment: memory.map { PaymentMemory(packed: $0.packed, charge: state.charge.charge) }
        )
    }
}

/// The facts of the objects in such stories.
protocol PaymentFixtures {}

extension PaymentFixtures {
    func source(
        _ status: String,
        _ method: String = "ideal",
        _ change: (inout PaymentFacts) -> Void = { _ in }
    ) -> PaymentFacts {
        var facts = PaymentFacts(kind: .source)
        facts.status = SourceStatus(unchecked: status)
        facts.usage = .singleUse
        facts.method = PaymentMethod(method)
        facts.amount = 1099
        facts.currency = "eur"
        change(&facts)
        return facts
    }

    func charge(_ status: ObservedCharge.Status) -> PaymentFacts {
        var charge = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: status)
        charge.amount = 1099
        charge.captured = status == .succeeded ? 1099 : 0
        var facts = PaymentFacts(kind: .charge)
        facts.charge = charge
        facts.amount = 1099
        facts.currency = "eur"
        return facts
    }
}
