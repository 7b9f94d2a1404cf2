import PollerTesting
import Testing

@testable import PollerChannels

@Suite("The connection limit of an email relay")
struct RelayLimiterTests {
    @Test("a free connection goes to the next attempt and never to a cancelled one")
    func order() async throws {
        let limiter = RelayLimiter(threads: 1)
        #expect(await limiter.enter())
        let cancelled = Task { await limiter.enter() }
        cancelled.cancel()
        #expect(await cancelled.value == false)
        let next = Task { await limiter.enter() }
        // The thread is available whether the attempt already waits or comes later.
        limiter.leave()
        #expect(await next.value)
        limiter.leave()
        #expect(await limiter.enter())
    }

    @Test("attempts fail if the relay does not answer, and at once while it is known to hang")
    func stuck() async {
        let limiter = RelayLimiter(threads: 2)
        for _ in 0..<2 { #expect(await limiter.enter()) }
        let clock = ContinuousClock()
        let start = clock.now
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await limiter.enter() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { !$0 })
        #expect(clock.now - start >= RelayLimiter.stallTimeout)
        // The relay is known to hang, so an attempt fails immediately. A busy machine may delay some of them.
        var quickest = Duration.seconds(3600)
        for _ in 0..<5 {
            let known = clock.now
            #expect(await limiter.enter() == false)
            quickest = min(quickest, clock.now - known)
        }
        #expect(quickest < RelayLimiter.stallTimeout)
        limiter.leave()
        #expect(await limiter.enter(), "it answers again")
    }
}
