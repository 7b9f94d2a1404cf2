import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import Synchronization
import Testing

@testable import PollerAPI
@testable import PollerPayments

@Suite("Limits of searches", .timeLimit(.minutes(5)))
struct ScanGateTests {
    /// Searches that run until the test ends them, and the order in which they began.
    private final class Looks: Sendable {
        let gate = ScanGate()
        private let begun = Mutex<[String]>([])
        private let ends = Mutex<[CheckedContinuation<Void, Never>]>([])

        var names: [String] { begun.withLock { $0 } }

        func look(_ key: String) async throws {
            try await gate.run(for: key) {
                await withCheckedContinuation { end in
                    ends.withLock { $0.append(end) }
                    begun.withLock { $0.append(key) }
                }
            }
        }

        /// Ends the running search that began first.
        func end() { ends.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.resume() }
    }

    @Test("one search per key and two in total run at a time, and keys take turns")
    func turns() async throws {
        let looks = Looks()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The queue of `flood` exists before the other keys arrive.
            for count in 1...6 {
                group.addTask { try await looks.look("flood") }
                try await eventually("it is in the queue") {
                    looks.names.count == 1 && looks.gate.waiting == count - 1
                }
            }
            group.addTask { try await looks.look("shop") }
            try await eventually("another key begins at once") { looks.names.count == 2 }
            group.addTask { try await looks.look("desk") }
            try await eventually("a third waits") { looks.gate.waiting == 6 }
            for wanted in 3...4 {
                looks.end()
                try await eventually("the next begins") { looks.names.count == wanted }
            }
            try await eventually("all have had their turn") {
                looks.end()
                return looks.names.count == 8 && looks.gate.waiting == 0
            }
            // The last search may have begun after the last end.
            looks.end()
            looks.end()
            try await group.waitForAll()
        }
        #expect(looks.names.prefix(2) == ["flood", "shop"])
        #expect(looks.names.dropFirst(2).prefix(2).contains("desk"), "\(looks.names)")
    }

    @Test("a key with too many waiting searches is rejected, and other keys are not")
    func full() async throws {
        let looks = Looks()
        let tasks = (0...ScanGate.waitingPerKeyMax).map { _ in
            Task { try await looks.look("flood") }
        }
        try await eventually("the queue is full") {
            looks.gate.waiting == ScanGate.waitingPerKeyMax
        }
        let refused = await #expect(throws: Problem.self) { try await looks.look("flood") }
        #expect(refused?.code == .tooManyRequests && refused?.retryAfterSeconds == 1)
        // A file that has begun retries instead.
        let scans = Scans(
            watches: MemoryStore(time: ClockTime(ContinuousClock())),
            gate: looks.gate,
            rates: RequestRates(.standard, clock: ContinuousClock())
        )
        let caller = Caller(name: "flood", scopes: [], accounts: .all)
        let page = try await scans.listUnlessBusy(ListQuery(payment: .paid), for: caller)
        #expect(page == nil)
        let other = Task { try await looks.look("shop") }
        try await eventually("another key begins") { looks.names.contains("shop") }
        // A disconnected client leaves the queue.
        for task in tasks { task.cancel() }
        try await eventually("the queue is empty") { looks.gate.waiting == 0 }
        for _ in 0..<2 { looks.end() }
        for task in tasks { _ = await task.result }
        try await other.value
        let again = Task { try await looks.look("flood") }
        try await eventually("it begins again") { looks.names.count == 3 }
        looks.end()
        try await again.value
    }

    @Test("lists of deliveries and orders that may read many records wait in the same queue")
    func lists() async throws {
        let keys = try KeyFile(text: "key-of-acme-0123456789ab role=admin account=acme name=acme")
        let acme = bearer("key-of-acme-0123456789ab")
        let trail = HeldTrail()
        let inFront = { @Sendable (_: any AuditTrail) in trail as any AuditTrail }
        try await LiveAPI.run(keys: keys, trailInFront: inFront) { api in
            try await withThrowingTaskGroup(of: Int.self) { group in
                // The first request runs, and the queue rejects the last one. Each request has its own client, because
                // a shared client opens only eight connections.
                for _ in 0..<ScanGate.waitingPerKeyMax + 2 {
                    group.addTask { try await api.fetch("/v1/audit", headers: acme).status }
                }
                let first = try await group.next()
                #expect(first == 429)
                for path in ["/v1/deliveries?state=dead", "/v1/orders?account=acme&state=paid"] {
                    #expect(try await api.fetch(path, headers: acme).status == 429, "\(path)")
                }
                let all = try await api.fetch("/v1/orders?account=acme", headers: acme)
                #expect(all.status == 200)
                trail.open()
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test("the records of a search are charged only to its key's rate")
    func cost() throws {
        let clock = ManualClock()
        let rates = RequestRates(
            RequestLimits(perKey: 100, perAddress: nil, waitsPerKey: 1),
            clock: clock
        )
        try rates.admit(key: "flood")
        rates.charge(key: "flood", records: 2000)
        try rates.admit(key: "flood")
        rates.charge(key: "flood", records: 2000)
        rates.charge(key: "flood", records: 2000)
        #expect(throws: Problem.self) { try rates.admit(key: "flood") }
        try rates.admit(key: "shop")
        clock.advance(by: .seconds(2))
        try rates.admit(key: "flood")
    }
}

/// An audit trail that delays its reads until the test opens it.
private final class HeldTrail: AuditTrail {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }

    func note(_ change: AuditedChange) async throws(StoreError) -> PollerOperations.AuditEntry {
        throw .unavailable("not in this test")
    }

    func entries(
        _ query: AuditQuery
    ) async throws(StoreError) -> ListPage<PollerOperations.AuditEntry> {
        while !isOpen.withLock({ $0 }), !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
        return ListPage(items: [], next: nil)
    }
}
