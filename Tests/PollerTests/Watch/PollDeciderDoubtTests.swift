import PollerIdentity
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("PollDecider: answers without a payment state")
struct PollDeciderDoubtTests {
    private let start = VirtualTime.start
    private let hour: Int64 = 3600

    private func decide(
        _ result: PollResult,
        _ watch: Watch,
        second: Int64,
        isLaneDown: Bool = false,
        by decider: PollDecider = PollDecider(),
        seed: Int = 7
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: UInt64(seed))
        let now = start + .seconds(second)
        let context = PollContext(
            watch,
            due: now,
            polledAt: now,
            now: now,
            isLaneDown: isLaneDown
        )
        return decider.decide(context, .answer(result), using: &generator)
    }

    /// Creates a watch of thirty days with the state after a poll.
    private func watch(_ state: WatchState, createdAt: Timestamp? = nil) -> Watch {
        let begun = createdAt ?? start
        return Watch(
            Sample.key(),
            createdAt: begun,
            deadline: begun + .seconds(30 * 86_400),
            seq: 1,
            state: state
        )
    }

    private let pending = WatchState(status: SourceStatus(unchecked: "pending"))

    /// Decides on polls with these answers at these seconds, and returns the last decision.
    private func polls(
        _ results: [(PollResult, Int64)],
        _ state: WatchState? = nil,
        createdAt: Timestamp? = nil,
        by decider: PollDecider = PollDecider()
    ) -> Decision<WatchChange>? {
        var state = state ?? pending
        var last: Decision<WatchChange>?
        for (result, second) in results {
            let watch = watch(state, createdAt: createdAt)
            let decision = decide(result, watch, second: second, by: decider)
            state = decision.change.state
            last = decision
        }
        return last
    }

    private func delay(_ decision: Decision<WatchChange>?) -> Duration? {
        guard case .next(let wait)? = decision?.verdict else { return nil }
        return wait
    }

    @Test("an outage of half a day closes no watch, at any number of polls")
    func outage() throws {
        let html = PollResult.malformed("the content type is not JSON")
        let seconds = (0..<700).map { $0 * 60 }
        let decision = polls(seconds.map { (html, Int64($0)) })
        #expect(delay(decision) != nil)
        #expect(decision?.change.events.isEmpty == true)
        #expect(decision?.change.state.malformed == 700)
    }

    @Test("a watch is closed as dead after half a day of malformed answers, with an event")
    func quarantined() throws {
        let odd = PollResult.malformed("half")
        let seconds = [0, 1, 60, hour, 11 * hour, 12 * hour]
        let before = polls(seconds.dropLast().map { (odd, $0) })
        #expect(delay(before) != nil)
        let last = polls(seconds.map { (odd, $0) })
        let decision = try #require(last)
        #expect(decision.verdict == .close(.dead))
        #expect(decision.change.event?.type == "watch.dead")
        #expect(decision.change.event?.status?.description == "pending")
        #expect(decision.change.lastError == "not understood 6 times: half")
        // A malformed answer does not count as a success of the lane.
        #expect(decision.signal == .hold(.zero))
        // A few answers are not enough, at any interval.
        let few = polls([0, 6 * hour, 13 * hour, 14 * hour].map { (odd, $0) })
        #expect(delay(few) != nil)
    }

    @Test("no watch is closed as dead while the lane's circuit is open")
    func laneDown() {
        var state = pending
        state.malformed = 50
        state.streak = AnswerStreak(.malformed, since: start)
        let odd = PollResult.malformed("half")
        let late = watch(state)
        let down = decide(odd, late, second: 40 * hour, isLaneDown: true)
        #expect(delay(down) != nil)
        #expect(decide(odd, late, second: 40 * hour).verdict == .close(.dead))
    }

    @Test("any other answer ends the streak, as does a new run")
    func streaks() {
        let odd = PollResult.malformed("half")
        for other in [
            PollResult.pending, .unavailable("503", retryAfter: nil), .gone, .lockTimeout,
        ] {
            let seconds = (0..<9).map { (odd, Int64($0) * hour) }
            let decision = polls(seconds + [(other, 9 * hour), (odd, 13 * hour)])
            #expect(delay(decision) != nil, "\(other)")
            #expect(decision?.change.state.malformed == 1, "\(other)")
        }
        var state = pending
        (state.malformed, state.streak) = (50, AnswerStreak(.malformed, since: start))
        let again = watch(state, createdAt: start + .seconds(20 * hour))
        #expect(delay(decide(odd, again, second: 21 * hour)) != nil)
        #expect(decide(odd, again, second: 33 * hour).change.state.streak?.since != start)
    }

    @Test("the first malformed answer of a streak counts against the lane, and later ones do not")
    func signals() throws {
        let odd = PollResult.malformed("half")
        let first = polls([(odd, 0)])
        #expect(first?.signal == .garbled)
        let again = polls([(odd, 0), (odd, 2)])
        #expect(again?.signal == .stillGarbled)
        let withRecovery = polls([(odd, 0), (.pending, 2), (odd, 4)])
        #expect(withRecovery?.signal == .garbled)
    }

    @Test("waits grow to a minute, and after many malformed answers to ten minutes")
    func waits() throws {
        var (few, many) = (Duration.zero, Duration.zero)
        for failures in 0..<200 {
            var state = pending
            (state.failures, state.malformed) = (failures, failures)
            state.streak = AnswerStreak(.malformed, since: start)
            let decision = decide(.malformed("half"), watch(state), second: 60, seed: failures)
            let wait = delay(decision) ?? .zero
            if failures < 19 { few = max(few, wait) } else { many = max(many, wait) }
        }
        #expect(few <= .seconds(60) && many > .seconds(60) && many <= .seconds(600))
    }

    @Test("an operator can configure the quarantine span")
    func configured() {
        let decider = PollDecider(quarantineAfter: .zero)
        let odd = PollResult.malformed("half")
        let fourth = polls((0..<4).map { (odd, Int64($0)) }, by: decider)
        #expect(delay(fourth) != nil)
        let fifth = polls((0..<5).map { (odd, Int64($0)) }, by: decider)
        #expect(fifth?.verdict == .close(.dead))
    }

    @Test("a poll that no process can make is quarantined after five attempts, despite hints")
    func unaskable() throws {
        let result = PollResult.unaskable("a publishable key needs the client_secret")
        for count in 1...4 {
            let decision = polls((0..<count).map { (result, Int64($0)) })
            #expect(delay(decision) != nil && decision?.signal == .hold(.zero))
        }
        let last = polls((0..<5).map { (result, Int64($0)) })
        let decision = try #require(last)
        #expect(decision.verdict == .close(.dead))
        #expect(decision.change.lastError?.contains("client_secret") == true)
        #expect(decision.change.state.malformed == 0)
    }

    @Test("a watch that ended its workers is distinguished from one with malformed answers")
    func poisoned() {
        var state = pending
        state.malformed = 3
        let decision = PollDecider().poisoned(watch(state), crashes: 5, now: start)
        #expect(decision.verdict == .close(.dead) && decision.change.state.malformed == 0)
    }

    @Test("an object that does not exist yet is polled again within seconds")
    func notYet() throws {
        for second in [0, 1, 2, 5, 14] as [Int64] {
            let decision = polls([(.gone, 0), (.gone, second)], WatchState())
            let pause = try #require(delay(decision))
            #expect(pause >= .milliseconds(100) && pause < .seconds(10), "\(second): \(pause)")
            #expect(decision?.change.events.isEmpty == true)
            #expect(decision?.change.lastError?.contains("404") == true)
        }
        let first = polls([(.gone, 0)], WatchState())
        #expect(try #require(delay(first)) < .seconds(2))
        let last = polls([(.gone, 0), (.gone, 1), (.pending, 2)], WatchState())
        let found = try #require(last)
        #expect(found.change.event?.type == "source.pending")
        #expect(found.change.state.streak == nil)
    }

    @Test("an object that stays missing is gone, and the event repeats the last status")
    func gone() throws {
        let last = polls([(.gone, 0), (.gone, 7), (.gone, 15)])
        let decision = try #require(last)
        #expect(decision.verdict == .close(.gone))
        let event = try #require(decision.change.event)
        #expect(event.type == "watch.gone")
        // Only the watch has ended, not the payment, so the event is not `final`.
        #expect(!event.final && event.closed == .gone)
        #expect(event.status?.description == "pending")
        #expect(decision.change.state.status?.description == "pending")
    }

    @Test("a 404 about an existing object is confirmed by another poll seconds later")
    func confirmed() throws {
        let first = polls([(.pending, 0), (.gone, 600)])
        let pause = try #require(delay(first))
        #expect(pause > .seconds(5) && pause < .seconds(15))
        // A poll right after it, caused by a hint, proves nothing.
        let hurried = polls([(.pending, 0), (.gone, 600), (.gone, 601)])
        #expect(delay(hurried) != nil)
        let second = polls([(.pending, 0), (.gone, 600), (.gone, 610)])
        #expect(second?.verdict == .close(.gone))
        for other in [PollResult.pending, .unavailable("503", retryAfter: nil)] {
            let hiccup = polls([(.gone, 600), (other, 610), (.gone, 620)])
            #expect(delay(hiccup) != nil, "\(other)")
        }
    }

    @Test("a watch of an unknown object is gone at its deadline, not expired")
    func goneAtDeadline() {
        let short = Sample.watch(timeout: .seconds(5))
        #expect(decide(.gone, short, second: 5).verdict == .close(.gone))
    }

    @Test("a rate limit of one object delays only its watch, with growing waits")
    func objectLimited() throws {
        let limited = PollResult.objectLimited(retryAfter: nil)
        var longest = Duration.zero
        for failures in 0..<100 {
            var state = pending
            state.failures = failures
            let decision = decide(limited, watch(state), second: 60, seed: failures)
            #expect(decision.signal == .fine && decision.change.events.isEmpty)
            longest = max(longest, try #require(delay(decision)))
        }
        #expect(longest > .seconds(20) && longest <= .seconds(60))
        let pausedDecision = decide(
            .objectLimited(retryAfter: .seconds(90)),
            watch(pending),
            second: 60
        )
        #expect(try #require(delay(pausedDecision)) >= .seconds(90))
    }
}

@Suite("Stored answer streaks")
struct AnswerStreakTests {
    @Test("a packed streak is read back, and other text is ignored")
    func packed() {
        for kind in AnswerStreak.Kind.allCases {
            let streak = AnswerStreak(kind, since: Timestamp(ms: 1_796_083_200_000))
            #expect(AnswerStreak(packed: streak.packed) == streak)
        }
        for text in ["", "m", "x12", "m-5", "m!", "gzzzzzzzzzzzzzzzzzzz", "12"] {
            #expect(AnswerStreak(packed: text) == nil, "\(text)")
        }
    }
}
