import Foundation
import NIOCore
import PollerNet
import PollerTesting
import Synchronization
import Testing

@Suite("The system's resolver", .timeLimit(.minutes(1)))
struct SystemResolverTests {
    private let clock = ManualClock()
    private let lookups = BlockingLookups()

    private func resolver() -> SystemResolver<ManualClock> {
        SystemResolver(clock: clock) { [lookups] name in lookups.lookUp(name) }
    }

    @Test("beside two domains that never answer, others are resolved at once")
    func tarpits() async throws {
        let resolver = resolver()
        let stuck = Task {
            await withTaskGroup(of: Void.self) { group in
                for domain in ["mire-one.test", "mire-two.test"] {
                    for number in 0..<40 {
                        group.addTask {
                            let host = "h\(number).\(domain)"
                            // What comes of it is the next test's.
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
        #expect(lookups.started.count { $0.hasSuffix("mire-one.test") } < 10)

        // They give up, and what has not begun never does.
        let begun = Set(lookups.started)
        clock.advance(by: .seconds(5))
        await stuck.value
        lookups.openAll()
        try await eventually("those that had begun end") { lookups.running == 0 }
        #expect(Set(lookups.started) == begun)
    }

    @Test("who waits gives up after five seconds, and the answer that comes later is remembered")
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

    @Test("those who ask at once share a lookup, each with its own port")
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

    @Test("who is cancelled waits no longer")
    func cancelled() async throws {
        let resolver = resolver()
        let caller = Task { try await resolver.addresses(host: "slow.test", port: 443) }
        await clock.waitForSleepers(1)
        caller.cancel()
        await #expect(throws: ResolutionFailure.self) { try await caller.value }
        lookups.openAll()
    }

    @Test(
        "an address is no name, however it is spelt",
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

/// Lookups that block their threads until they are let go, as `getaddrinfo` does.
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
    /// How many lookups have not ended.
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

    /// Lets the lookups of a name end, also those to come.
    func open(_ name: String) { change { $0.open.insert(name) } }

    /// Lets every lookup end.
    func openAll() { change { $0.isAllOpen = true } }

    private func change(_ change: (inout State) -> Void) {
        changed.lock()
        state.withLock { change(&$0) }
        changed.broadcast()
        changed.unlock()
    }
}
