import Testing

@testable import RedisClient

@Suite struct RedisRefreshStateTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)

    private func state() -> RedisRefreshState {
        RedisRefreshState(calmInterval: .seconds(10), troubleInterval: .milliseconds(250))
    }

    @Test("a thousand redirections make one reading, and one more after it")
    func storm() {
        var state = state()
        #expect(state.want(now: start) == start)
        let isFirst = state.begin(now: start)
        let isSecond = state.begin(now: start)
        #expect(isFirst && !isSecond)
        for _ in 0..<1_000 { #expect(state.want(now: start) == nil) }
        let next = state.finished(now: start + .milliseconds(3), isCalm: true)
        #expect(next == start + RedisRefreshState.spacing)
        let isThird = state.begin(now: next)
        #expect(isThird)
        #expect(state.finished(now: next, isCalm: true) == next + .seconds(10))
    }

    @Test("it reads often while a node is missing, and at once when asked long after")
    func trouble() {
        var state = state()
        _ = state.begin(now: start)
        #expect(state.finished(now: start, isCalm: false) == start + .milliseconds(250))
        #expect(state.want(now: start + .milliseconds(20)) == start + .milliseconds(100))
        #expect(state.want(now: start + .seconds(3)) == start + .seconds(3))
    }
}
