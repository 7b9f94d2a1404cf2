import PollerNet
import PollerTesting
import Testing

@testable import PollerAPI

@Suite("Request rates")
struct RequestRatesTests {
    private let clock = ManualClock()

    private func rates(perKey: Int = 10, perAddress: Int? = 5) -> RequestRates {
        let limits = RequestLimits(perKey: perKey, perAddress: perAddress, waitsPerKey: 0)
        return RequestRates(limits, clock: clock)
    }

    /// Returns how many requests are admitted.
    private func taken(_ count: Int, _ admit: () throws -> Void) -> Int {
        (0..<count).count { _ in (try? admit()) != nil }
    }

    @Test("each key has its own rate, with a burst of twice the rate")
    func buckets() throws {
        let rates = rates()
        #expect(taken(100) { try rates.admit(key: "a") } == 21)
        #expect(taken(100) { try rates.admit(key: "b") } == 21)
        for _ in 0..<5 {
            clock.advance(by: .seconds(1))
            #expect(taken(100) { try rates.admit(key: "a") } == 10)
        }
        clock.advance(by: .seconds(60))
        #expect(taken(100) { try rates.admit(key: "a") } == 21, "no credit for a minute of silence")
    }

    @Test("a rejected request is admitted after its retry time")
    func retryAfter() throws {
        let rates = rates(perKey: 1)
        _ = taken(10) { try rates.admit(key: "a") }
        let problem = try #require(throws: Problem.self) { try rates.admit(key: "a") }
        #expect(problem.code == .tooManyRequests)
        clock.advance(by: .seconds(try #require(problem.retryAfterSeconds)))
        try rates.admit(key: "a")
    }

    @Test("rates apply per IPv4 address and IPv6 network, and to loopback only if configured")
    func addresses() throws {
        let elsewhere = try #require(IPAddress("192.0.2.1"))
        let here = try #require(IPAddress("127.0.0.1"))
        let named = rates()
        #expect(taken(100) { try named.admit(address: elsewhere) } == 11)
        #expect(taken(100) { try named.admit(address: here) } == 11)
        let one = try #require(IPAddress("2001:db8::1"))
        let two = try #require(IPAddress("2001:db8::2"))
        #expect(taken(6) { try named.admit(address: one) } == 6)
        #expect(taken(100) { try named.admit(address: two) } == 5)
        let standard = rates(perAddress: nil)
        #expect(taken(10_000) { try standard.admit(address: here) } == 10_000)
        #expect(taken(10_000) { try standard.admit(address: elsewhere) } == 4001)
    }

    @Test("a limit of zero means unlimited")
    func unlimited() {
        let rates = rates(perKey: 0, perAddress: 0)
        #expect(taken(10_000) { try rates.admit(key: "a") } == 10_000)
        #expect(taken(10_000) { try rates.admit(address: IPAddress("192.0.2.1")) } == 10_000)
    }
}
