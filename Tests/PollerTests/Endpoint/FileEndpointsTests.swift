import PollerTesting
import Testing

@testable import Poller

@Suite("FileEndpoints", .timeLimit(.minutes(1)))
struct FileEndpointsTests {
    let time = VirtualTime()
    let store: MemoryEndpointStore

    init() {
        store = MemoryEndpointStore(time: time, page: 3)
    }

    @Test("the endpoints of the configuration file come back when the store has lost them")
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
        #expect(try await file.apply().map(\.what) == ["created"])
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

    @Test("one there is no room for is left out and said so, and made once there is room")
    func noRoom() async throws {
        let store = MemoryEndpointStore(time: time, countMax: 1)
        let account = AccountID(unchecked: "acct_a")
        let wanted = try ["a", "b"].map { name in
            Endpoint(
                id: EndpointID(account: account, name: name),
                account: account,
                name: name,
                url: try NotifyURL("https://\(name).example/"),
                secrets: []
            )
        }
        let file = FileEndpoints(wanted, store: store)
        #expect(try await file.apply().map(\.isLeftOut) == [false, true])
        #expect(try await file.restore() == [])
        _ = try await store.remove(wanted[0].id)
        #expect(try await file.restore().map(\.what) == ["created"])
    }

    @Test("a configuration file makes, changes, disables and enables its endpoints, no others")
    func file() async throws {
        let mine = try EndpointTests.endpoint("mine")
        _ = try await store.create(mine, request: nil)
        func apply(_ hosts: [String], secret: UInt64 = 1) async throws -> [String] {
            var chance = SeededGenerator(seed: secret)
            let secret = WebhookSecret(using: &chance)
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
            return try await FileEndpoints(wanted, store: store).apply().map(\.what)
        }
        #expect(try await apply(["a", "b"]) == ["created", "created"])
        #expect(try await apply(["a", "b"]) == [])
        #expect(try await apply(["a", "b"], secret: 2) == ["changed", "changed"])
        #expect(try await apply(["a"], secret: 2) == ["disabled"])
        let gone = EndpointID(account: AccountID(unchecked: "acct_a"), name: "b")
        #expect(try await store.read(gone)?.endpoint.isEnabled == false)
        #expect(try await apply(["a", "b"], secret: 2) == ["enabled again"])
        // Disabled for another reason it stays so, whatever the file says.
        try await store.disable(gone, reason: "answered 410")
        #expect(try await apply(["a", "b"], secret: 2) == [])
        #expect(try await store.read(gone)?.endpoint.isEnabled == false)
        #expect(try await store.read(mine.id)?.endpoint.isEnabled == true)
    }
}
