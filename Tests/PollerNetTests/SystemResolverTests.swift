import Foundation
import NIOCore
import PollerNet
import PollerTesting
import Synchronization
import Testing

@Suite("SystemResolver", .timeLimit(.minutes(5)))
struct SystemResolverTests {
    private let clock = ManualClock()
    private let lookups = BlockingLookups()

    private func resolver() -> SystemResolver<ManualClock> {
        SystemResolver(clock: clock) { [lookups] name in lookups.lookUp(name) }
    }

    @Test("while two domains never respond, others are resolved at once")
    func tarpits() async throws {
        let resolver = resolver()
        let stuck = Task {
            await withTaskGroup(of: Void.self) { group in
                for domain in ["slow-one.test", "slow-two.test"] {
                    for number in 0..<40 {
                        group.addTask {
                            let host = "h\(number).\(domain)"
                            // The next test checks the results.
                            _ = try? await resolver.addresses(host: host, port: 443)
                        }
                    }
                }
            }
        }
        await clock.waitForSleepers(80)
        lookups.open("shop.good.test")
        let found = try await resolver.addresses(host: "shop.good.test", port: 8443)
        #expect(found.map(\.description) == [try expected(port: 8443).description])
        #expect(lookups.started.count { $0.hasSuffix("slow-one.test") } < 10)

        // Each lookup begins in a thread of its own, later than its caller waits.
        try await eventually("four lookups of each domain run") { lookups.running == 8 }
        // The callers time out, and queued lookups never start.
        let begun = Set(lookups.started)
        clock.advance(by: .seconds(5))
        await stuck.value
        lookups.openAll()
        try await eventually("the running lookups end") { lookups.running == 0 }
        #expect(Set(lookups.started) == begun)
    }

    @Test("a caller times out after five seconds, and the late answer is cached")
    func late() async throws {
        let resolver = resolver()
        let first = Task { try await resolver.addresses(host: "slow.test", port: 443) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await #expect(throws: ResolutionFailure(reason: "no answer within 5 s")) {
            try await first.value
        }
        lookups.open("slow.test")
        try await eventually("it ends") { lookups.running == 0 }
        let found = try await resolver.addresses(host: "slow.test", port: 80)
        #expect(found.map(\.port) == [80])
        #expect(lookups.started == ["slow.test"])
    }

    @Test("concurrent callers share a lookup, each with its own port")
    func shared() async throws {
        let resolver = resolver()
        async let one = resolver.addresses(host: "a.test", port: 1)
        async let two = resolver.addresses(host: "a.test", port: 2)
        await clock.waitForSleepers(2)
        lookups.open("a.test")
        #expect(try await one.map(\.port) == [1])
        #expect(try await two.map(\.port) == [2])
        #expect(lookups.started == ["a.test"])
    }

    @Test("a cancelled caller stops waiting")
    func cancelled() async throws {
        let resolver = resolver()
        let caller = Task { try await resolver.addresses(host: "slow.test", port: 443) }
        await clock.waitForSleepers(1)
        caller.cancel()
        await #expect(throws: ResolutionFailure.self) { try await caller.value }
        lookups.openAll()
    }

    @Test(
        "an address in any spelling is not looked up",
        arguments: ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "::1"]
    )
    func literal(host: String) async throws {
        let found = try await resolver().addresses(host: host, port: 443)
        #expect(found.count == 1 && found[0].port == 443)
        #expect(lookups.started == [])
    }

    private func expected(port: Int) throws -> SocketAddress {
        try SocketAddress(ipAddress: "192.0.2.1", port: port)
    }
}

/// Lookups that block their threads until they are released, as `getaddrinfo` does.
private final class BlockingLookups: Sendable {
    private struct State: Sendable {
        var started: [String] = []
        var running = 0
        var open: Set<String> = []
        var isAllOpen = false
    }

    private let state = Mutex(State())
    private let changed = NSCondition()

    /// The names that were looked up, in order.
    var started: [String] { state.withLock(\.started) }
    /// The number of running lookups.
    var running: Int { state.withLock(\.running) }

    func lookUp(_ name: String) -> LookupAnswer {
        state.withLock { state in
            state.started.append(name)
            state.running += 1
        }
        changed.lock()
        while !state.withLock({ $0.isAllOpen || $0.open.contains(name) }) { changed.wait() }
        changed.unlock()
        defer { state.withLock { $0.running -= 1 } }
        // A constant that parses.
        let address = try? SocketAddress(ipAddress: "192.0.2.1", port: 0)
        return .success(address.map { [$0] } ?? [])
    }

    /// Releases the lookups of a name, including future ones.
    func open(_ name: String) { change { $0.open.insert(name) } }

    /// Releases every lookup.
    func openAll() { change { $0.isAllOpen = true } }

    private func change(_ change: (inout State) -> Void) {
        changed.lock()
        state.withLock { change(&$0) }
        changed.broadcast()
        changed.unlock()
    }
}
