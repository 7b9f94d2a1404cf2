import Foundation
import Logging
import Poller
import RedisClient
import Testing

@testable import PollerRedis

/// Names of endpoints while a process of an earlier release runs, which knows only names of the configuration file.
@Suite("Names of endpoints in a real Redis")
struct EndpointNamesTests {
    private static let account = AccountID(unchecked: "acct_a")

    private static func endpoint(_ name: String?, isOfFile: Bool = false) throws -> Endpoint {
        var chance = SystemRandomNumberGenerator()
        let ofFile = name.map { EndpointID(account: account, name: $0) }
        return Endpoint(
            id: isOfFile ? try #require(ofFile) : EndpointID(using: &chance),
            account: account,
            name: name,
            url: try NotifyURL("https://shop.example/\(name ?? "hook")"),
            secrets: [EndpointSecret(WebhookSecret(using: &chance))]
        )
    }

    private static func run(
        _ body: (RedisEndpointStore, RedisClient, _ records: String) async throws -> Void
    ) async throws {
        try await withRedis { client in
            let layout = try await StoreLayout.agreed(on: client, namespace: "t", partitions: 4)
            var logger = Logger(label: "names")
            logger.logLevel = .error
            let store = RedisEndpointStore(client: client, layout: layout, logger: logger)
            try await body(store, client, layout.deliveryKeys.endpoints)
        }
    }

    private static func record(
        _ id: EndpointID,
        _ records: String,
        _ client: RedisClient
    ) async throws -> String {
        let read = RedisCommand("HGET", [.string(records), .string("\(id)")])
        return try #require(try await client.send(read).string)
    }

    @Test("only an endpoint of the file has the member by which 0.3.0 recognises its own")
    func members() async throws {
        try await Self.run { store, client, records in
            let (own, ofFile) = (
                try Self.endpoint("billing"), try Self.endpoint("crm", isOfFile: true)
            )
            for endpoint in [own, ofFile] { _ = try await store.create(endpoint, request: nil) }
            let (first, second) = (
                try await Self.record(own.id, records, client),
                try await Self.record(ofFile.id, records, client)
            )
            #expect(first.contains(#""label":"billing""#) && !first.contains(#""name":"#))
            #expect(second.contains(#""name":"crm""#) && !second.contains(#""label":"#))
            #expect(try await store.read(own.id)?.endpoint.name == "billing")
            #expect(try await store.read(ofFile.id)?.endpoint.name == "crm")
        }
    }

    @Test(
        "a name of the file that no index has is taken, and the file can change it"
    )
    func notIndexed() async throws {
        try await Self.run { store, client, records in
            let ofFile = try Self.endpoint("crm", isOfFile: true)
            _ = try await store.create(ofFile, request: nil)
            // The state after 0.3.0.
            let names = records.replacing("g{0}", with: "Y{0}")
            #expect(try await client.send(RedisCommand("DEL", [.string(names)])).int == 1)
            let twin = try await store.create(Self.endpoint("crm"), request: nil)
            #expect(twin == .nameTaken(by: ofFile.id))
            let other = try Self.endpoint("other")
            _ = try await store.create(other, request: nil)
            let renamed = try await store.edit(other.id, while: { _ in true }) { endpoint, _ in
                endpoint.name = "crm"
            }
            #expect(renamed == .nameTaken(by: ofFile.id))
            // Even if another endpoint has it already.
            let taken = RedisCommand(
                "HSET",
                [.string(names), "acct_a crm", .string("\(other.id)")]
            )
            _ = try await client.send(taken)
            let text = try await Self.record(other.id, records, client)
                .replacing(#""label":"other""#, with: #""label":"crm""#)
            _ = try await client.send(
                RedisCommand("HSET", [.string(records), .string("\(other.id)"), .string(text)])
            )
            let disabled = try await store.disable(ofFile.id, reason: "gone")
            #expect(disabled?.isEnabled == false)
        }
    }

    @Test("a name that 0.3.0 has left out of a record is free again")
    func leftOut() async throws {
        try await Self.run { store, client, records in
            let old = try Self.endpoint("billing")
            _ = try await store.create(old, request: nil)
            let text = try await Self.record(old.id, records, client)
                .replacing(#""label":"billing","#, with: "")
            _ = try await client.send(
                RedisCommand("HSET", [.string(records), .string("\(old.id)"), .string(text)])
            )
            #expect(try await store.read(old.id)?.endpoint.name == nil)
            guard case .created = try await store.create(Self.endpoint("billing"), request: nil)
            else {
                Issue.record("the name is still taken")
                return
            }
        }
    }
}
