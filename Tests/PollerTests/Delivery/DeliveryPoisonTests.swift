import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

extension DeliveryHandlerTests {
    @Test("an event that ended its notifiers is postponed like a failure and delivered later")
    func poisoned() async throws {
        try await record(["a", "b"])
        let channel = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(60)]))
        let tried = try #require(try await handle(channel, crashes: 4))
        #expect(channel.attempts.map(\.event.seq) == [1] && tried.change.state.cursor == 1)
        let postponed = try #require(try await handle(channel, crashes: 5))
        #expect(channel.attempts.count == 1)
        let state = postponed.change.state
        #expect(state.cursor == 0 && state.failures == 1 && state.dead.isEmpty)
        #expect(postponed.change.attempt?.kind == .poison && postponed.signal == .hold(.zero))
        let wait = if case .next(let wait) = postponed.verdict { wait.inSeconds } else { 0.0 }
        #expect((48...72).contains(wait))
        let handled = try #require(try await handle(channel, state))
        #expect(channel.attempts.map(\.event.seq) == [1, 1] && handled.change.state.cursor == 1)
        // The schedule of such an event ends, as after any other failure.
        let last = try #require(try await handle(channel, DeliveryState(failures: 1), crashes: 5))
        #expect(last.change.state.dead == [1])
    }
}
