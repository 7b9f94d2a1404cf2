import Testing

@testable import RedisClient

@Suite struct RedisOutageLogTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)

    @Test("an outage is told at once, then every 30 seconds with the number of failures")
    func outage() {
        var log = RedisOutageLog(interval: .seconds(30))
        #expect(log.failed(attempt: 1, now: start) == 1)
        for attempt in 2...11 {
            #expect(log.failed(attempt: attempt, now: start + .seconds(attempt)) == nil)
        }
        #expect(log.failed(attempt: 12, now: start + .seconds(30)) == 11)
        #expect(log.failed(attempt: 13, now: start + .seconds(59)) == nil)
        #expect(log.failed(attempt: 1, now: start + .seconds(60) + .seconds(1)) == 2)
    }

    @Test("a server that accepts and drops everybody is told once, not at each connection")
    func flapping() {
        var log = RedisOutageLog(interval: .seconds(30))
        var lines = 0
        for attempt in 1...20 {
            if log.failed(attempt: attempt, now: start + .seconds(attempt)) != nil { lines += 1 }
            if log.recovered() { lines += 1 }
        }
        #expect(lines == 2)
    }
}
