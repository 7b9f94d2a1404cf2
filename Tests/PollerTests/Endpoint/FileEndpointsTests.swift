import PollerIdentity
import PollerTesting
import Testing

@testable import PollerDeliveries
@testable import PollerQueue

@Suite("FileEndpoints", .timeLimit(.minutes(5)))
struct FileEndpointsTests {
    let time = VirtualTime()
    let store: MemoryEndpointStore

    init() {
        store = MemoryEndpointStore(time: time, page: 3)
    }

    @Test("endpoints of the configuration file are restored after the store lost them")
    func restored() async throws {
        var endpoint = try EndpointTests.endpoint("a")
        let account = endpoint.account
        endpoint = Endpoint(
            id: EndpointID(account: account, name: "a"),
            account: account,
            name: "a",
            url: endpoint.url,
            secrets: endpoint.secrets
        )
        let file = FileEndpoints([endpoint], store: store)
        #expect(try await file.applied().map(\.what) == ["created"])
        let directory = EndpointDirectory(store: store, logger: Sample.quiet)
        let sync = EndpointSync(
            directory: directory,
            lanes: MemoryDeliveryQueue(time: time),
            file: { file },
            clock: ManualClock(),
            logger: Sample.quiet
        )
        await sync.align(isReloading: false)
        _ = try await store.remove(endpoint.id)
        await sync.align(isReloading: false)
        try await directory.refresh()
        #expect(directory.interested(in: EndpointTests.event()).endpoints == [endpoint.id])
    }

    /// Creates an endpoint of the configuration file.
    private static func endpoint(_ name: String) throws -> Endpoint {
        let account = AccountID(unchecked: "acct_a")
        return Endpoint(
            id: EndpointID(account: account, name: name),
            account: account,
            name: name,
            url: try NotifyURL("https://\(name).example/"),
            secrets: []
        )
    }

    @Test(
        "the file takes a name from an endpoint of the API, which keeps its other settings"
    )
    func nameOfFile() async throws {
        var generator = SeededGenerator(seed: 1)
        let configured = try Self.endpoint("crm")
        var mine = Endpoint(
            id: EndpointID(using: &generator),
            account: configured.account,
            name: "crm",
            url: try NotifyURL("https://mine.example/")
        )
        mine.coalesces = true
        _ = try await store.create(mine, request: nil)
        #expect(configured.isOfFile && !mine.isOfFile)
        #expect(
            try await FileEndpoints([configured], store: store).applied().map(\.what) == ["created"]
        )
        #expect(try await store.read(configured.id)?.endpoint.name == "crm")
        let left = try #require(try await store.read(mine.id)?.endpoint)
        #expect(left.name == nil && left.coalesces && left.isEnabled)
        // An endpoint that the API named is not managed by the file, so it stays enabled without an entry there.
        _ = try await store.update(mine.id) { endpoint, _ in endpoint.name = "mine" }
        #expect(try await FileEndpoints([configured], store: store).applied() == [])
        #expect(try await store.read(mine.id)?.endpoint.isEnabled == true)
    }

    @Test("an endpoint over the limit is left out and reported, and created once there is room")
    func noRoom() async throws {
        let store = MemoryEndpointStore(time: time, countMax: 1)
        let wanted = try ["a", "b"].map(Self.endpoint)
        let file = FileEndpoints(wanted, store: store)
        #expect(try await file.applied().map(\.isLeftOut) == [false, true])
        #expect(try await file.restored() == [])
        _ = try await store.remove(wanted[0].id)
        #expect(try await file.restored().map(\.what) == ["created"])
    }

    @Test("an endpoint that fails does not block the others, and its error is thrown at the end")
    func corrupt() async throws {
        let (bad, good) = (try Self.endpoint("a"), try Self.endpoint("b"))
        let gone = try Self.endpoint("gone")
        _ = try await store.create(gone, request: nil)
        let failing = FailingReads(base: store)
        let file = FileEndpoints([bad, good], store: failing)
        let reported = Shared<[FileEndpoints.Change]>([])
        failing.failures.change { $0[bad.id] = .corrupt("its record is of another release") }
        await #expect(throws: StoreError.corrupt("its record is of another release")) {
            try await file.apply { change in reported.change { $0.append(change) } }
        }
        #expect(reported.value.map(\.what) == ["created", "disabled"])
        #expect(reported.value.map(\.id) == [good.id, gone.id])
        _ = try await store.remove(good.id)
        await #expect(throws: StoreError.self) { try await file.restore { _ in } }
        #expect(try await store.read(good.id) != nil)
        // If the store is unavailable, the other endpoints are not tried.
        failing.failures.change { $0[bad.id] = .unavailable("no answer in time") }
        let reads = failing.reads.value
        await #expect(throws: StoreError.unavailable("no answer in time")) {
            try await file.apply()
        }
        #expect(failing.reads.value == reads + 1)
    }

    @Test("a continuing failure is reported once, and again after it has ended")
    func reportedOnce() {
        let reported = FailureReportFilter()
        #expect(!reported.shouldReport(nil))
        #expect(reported.shouldReport(.corrupt("x")) && !reported.shouldReport(.corrupt("x")))
        #expect(!reported.shouldReport(.unavailable("y")) && !reported.shouldReport(.corrupt("x")))
        #expect(reported.shouldReport(.full) && reported.shouldReport(.corrupt("x")))
        #expect(!reported.shouldReport(nil) && reported.shouldReport(.corrupt("x")))
    }

    @Test("a configuration file creates, changes, disables and enables its own endpoints only")
    func file() async throws {
        let mine = try EndpointTests.endpoint("mine")
        _ = try await store.create(mine, request: nil)
        func apply(_ hosts: [String], secret: UInt64 = 1) async throws -> [String] {
            var generator = SeededGenerator(seed: secret)
            let secret = WebhookSecret(using: &generator)
            let account = AccountID(unchecked: "acct_a")
            let wanted = try hosts.map { host in
                Endpoint(
                    id: EndpointID(account: account, name: host),
                    account: account,
                    name: host,
                    url: try NotifyURL("https://\(host).example/"),
                    secrets: [EndpointSecret(secret)]
                )
            }
            return try await FileEndpoints(wanted, store: store).applied().map(\.what)
        }
        #expect(try await apply(["a", "b"]) == ["created", "created"])
        #expect(try await apply(["a", "b"]) == [])
        #expect(try await apply(["a", "b"], secret: 2) == ["changed", "changed"])
        #expect(try await apply(["a"], secret: 2) == ["disabled"])
        let gone = EndpointID(account: AccountID(unchecked: "acct_a"), name: "b")
        #expect(try await store.read(gone)?.endpoint.isEnabled == false)
        #expect(try await apply(["a", "b"], secret: 2) == ["enabled again"])
        // An endpoint disabled for another reason stays disabled, even if the file lists it.
        try await store.disable(gone, reason: "answered 410")
        #expect(try await apply(["a", "b"], secret: 2) == [])
        #expect(try await store.read(gone)?.endpoint.isEnabled == false)
        #expect(try await store.read(mine.id)?.endpoint.isEnabled == true)
    }
}

extension FileEndpoints {
    /// Applies the file, and returns the changes.
    fileprivate func applied() async throws -> [Change] {
        var changes: [Change] = []
        try await apply { changes.append($0) }
        return changes
    }

    fileprivate func restored() async throws -> [Change] {
        var changes: [Change] = []
        try await restore { changes.append($0) }
        return changes
    }
}

/// A registry in which reads of some endpoints fail.
private struct FailingReads: ForwardingEndpointStore {
    let base: any EndpointStore
    let failures = Shared<[EndpointID: StoreError]>([:])
    let reads = Shared(0)

    func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint? {
        reads.change { $0 += 1 }
        if let failure = failures.value[id] { throw failure }
        return try await base.read(id, of: accounts)
    }
}
