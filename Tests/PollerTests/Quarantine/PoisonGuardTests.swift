import PollerHints
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@Suite("PoisonGuard", .timeLimit(.minutes(5)))
struct PoisonGuardTests {
    let clock = ManualClock()
    let store: MemoryStore
    let suspects: [Suspect]
    let poison: PoisonGuard

    init() {
        store = MemoryStore(time: ClockTime(clock))
        suspects = (0..<4).map { Suspect(.outbox, partition: 0, name: "\($0)-0") }
        poison = PoisonGuard(store: store, logger: Sample.quiet)
    }

    /// Handles entries and returns the groups in which they were handled.
    private func groups(_ suspects: [Suspect]) async throws -> [[String]] {
        var groups: [[String]] = []
        try await poison.handle(suspects) { (group) async throws(StoreError) in
            groups.append(group.map(\.name))
        }
        return groups
    }

    /// A process that ends while it handles entries.
    private func die(with suspects: [Suspect], isAlone: Bool = false) async throws {
        _ = try await store.begin(suspects, isAlone: isAlone)
    }

    @Test("entries without deaths are handled together and leave no mark")
    func fresh() async throws {
        #expect(try await groups(suspects) == [["0-0", "1-0", "2-0", "3-0"]])
        #expect(try await groups(suspects) == [["0-0", "1-0", "2-0", "3-0"]])
    }

    @Test("entries with deaths are handled one by one, behind the others")
    func alone() async throws {
        try await die(with: [suspects[0], suspects[2]])
        #expect(try await groups(suspects) == [["1-0", "3-0"], ["0-0"], ["2-0"]])
        // Each has survived.
        #expect(try await groups(suspects) == [["0-0", "1-0", "2-0", "3-0"]])
    }

    @Test("an entry with three deaths is set aside, and the others are handled")
    func setAside() async throws {
        try await die(with: suspects)
        try await die(with: [suspects[1]], isAlone: true)
        try await die(with: [suspects[1]], isAlone: true)
        #expect(try await groups(suspects) == [["0-0"], ["2-0"], ["3-0"]])
        let entries = try await store.setAsideEntries()
        // The outbox has no such entry here, so it is dropped. Other readers keep theirs.
        #expect(entries.isEmpty)
        let replay = Suspect(.replay, partition: 0, name: "ep_1", about: "ep_1")
        try await die(with: [replay])
        for _ in 0..<2 { try await die(with: [replay], isAlone: true) }
        #expect(try await groups([replay]) == [])
        #expect(try await store.setAsideEntries().map(\.id) == ["replay:0:ep_1"])
        #expect(try await store.setAsideEntries().map(\.deaths) == [3])
        #expect(try await groups([replay]) == [])
        _ = try await store.endSetAside("replay:0:ep_1", isRedriven: true)
        #expect(try await groups([replay]) == [["ep_1"]])
    }

    @Test("an error of the reader does not count as a death")
    func errors() async throws {
        for _ in 0..<5 {
            await #expect(throws: StoreError.self) {
                try await poison.handle(suspects) { (_) async throws(StoreError) in
                    throw .unavailable("a shard is unavailable")
                }
            }
        }
        #expect(try await groups(suspects).count == 1)
    }

    @Test("a cancelled reader does not count as a death")
    func cancelled() async throws {
        let began = Mutex(false)
        let task = Task { [poison, suspects] in
            try await poison.handle(suspects) { (_) async throws(StoreError) in
                began.withLock { $0 = true }
                while !Task.isCancelled { await Task.yield() }
            }
        }
        try await eventually("it handles them") { began.withLock(\.self) }
        task.cancel()
        try await task.value
        #expect(try await groups(suspects).count == 1)
    }

    @Test("a store outage when an entry was finished does not count as a death")
    func outage() async throws {
        let flaky = FlakySuspects(base: store)
        let poison = PoisonGuard(store: flaky, logger: Sample.quiet)
        for _ in 0..<6 {
            flaky.failing.withLock { $0 = true }
            try await poison.handle(suspects) { (_) async throws(StoreError) in }
            flaky.failing.withLock { $0 = false }
        }
        #expect(try await store.setAsideEntries().isEmpty)
        var groups = 0
        try await poison.handle(suspects) { (_) async throws(StoreError) in groups += 1 }
        #expect(groups == 1, "none of them is suspected")
    }

    @Test("suspects of two readers of a process do not run at once")
    func oneAtATime() async throws {
        let other = suspects.map { Suspect(.sweep, partition: 1, name: $0.name) }
        try await die(with: suspects)
        try await die(with: other)
        let running = Running()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for entries in [suspects, other] {
                // The task ends when all entries are handled.
                group.addTask { [poison] in
                    try await poison.handle(entries) { (_) async throws(StoreError) in
                        running.begin()
                        for _ in 0..<10 { await Task.yield() }
                        running.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(running.most == 1)
    }

    @Test("an entry that another process may be handling is left to it")
    func held() async throws {
        let fold = Suspect(.retention, partition: 0, name: "fold")
        try await die(with: [fold])
        #expect(try await groups([fold]) == [])
        clock.advance(by: .seconds(60))
        #expect(try await groups([fold]) == [["fold"]])
    }

    @Test("an upstream event that another process may be handling is handled, and not counted")
    func shared() async throws {
        let hint = Suspect(.hint, partition: 0, name: "evt_1")
        for _ in 0..<9 { try await die(with: [hint], isAlone: true) }
        #expect(try await groups([hint]) == [["evt_1"]])
    }

    @Test("a full quarantine leaves entries where they are, unhandled")
    func full() async throws {
        for number in 0..<SetAsideEntry.countMax {
            let suspect = Suspect(.replay, partition: 0, name: "ep_\(number)")
            let zero = Timestamp(ms: 0)
            let entry = SetAsideEntry(suspect, deaths: 3, firstAt: zero, at: zero)
            #expect(try await store.setAside(entry))
        }
        let more = Suspect(.replay, partition: 0, name: "more")
        try await die(with: [more])
        for _ in 0..<2 { try await die(with: [more], isAlone: true) }
        #expect(try await groups([more]) == [])
        #expect(try await store.setAsideEntries().count == SetAsideEntry.countMax)
        _ = try await store.endSetAside("replay:0:ep_0", isRedriven: false)
        #expect(try await groups([more]) == [])
        #expect(try await store.setAsideEntries().contains { $0.id == "replay:0:more" })
    }

    @Test("a webhook is named by its event without decoding it")
    func webhookName() {
        let partition = 3
        func name(_ body: String) -> String {
            HintIntake.suspect(webhook: Array(body.utf8), of: .main, countedIn: partition).name
        }
        #expect(name(#"{"id": "evt_1A", "created": 9e999}"#) == "evt_1A")
        #expect(name(#"{"a":["evt_x","evt_y"]}"#) == "evt_x")
        #expect(name(#"{"id":"evt_"#) == "evt_")
        // Without an ID the name is derived from the bytes.
        #expect(name("{}") == name("{}") && name("{}") != name("[]"))
    }
}

/// A store that does not answer when an entry is finished.
private final class FlakySuspects: SuspectStore {
    let base: MemoryStore
    let failing = Mutex(false)

    init(base: MemoryStore) { self.base = base }

    func partition(ofSuspects name: String) -> Int { base.partition(ofSuspects: name) }

    func begin(
        _ suspects: [Suspect],
        isAlone: Bool
    ) async throws(StoreError) -> [SuspectState] {
        try await base.begin(suspects, isAlone: isAlone)
    }

    func finish(_ suspects: [Suspect]) async throws(StoreError) {
        if failing.withLock(\.self) { throw .unavailable("no answer") }
        try await base.finish(suspects)
    }

    func setAside(_ entry: SetAsideEntry) async throws(StoreError) -> Bool {
        try await base.setAside(entry)
    }

    func setAsideEntries() async throws(StoreError) -> [SetAsideEntry] {
        try await base.setAsideEntries()
    }

    func endSetAside(
        _ id: String,
        isRedriven: Bool
    ) async throws(StoreError) -> SetAsideEntry? {
        try await base.endSetAside(id, isRedriven: isRedriven)
    }
}

/// The number of bodies that run at once.
///
/// It is a class because tasks share it.
private final class Running: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    /// The largest number so far.
    var most: Int { counts.withLock(\.most) }

    func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func end() { counts.withLock { $0.now -= 1 } }
}
