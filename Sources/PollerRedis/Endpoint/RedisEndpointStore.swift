package import Logging
package import PollerDeliveries
package import PollerIdentity
package import PollerOperations
package import PollerQueue
package import RedisClient
import SafeNumbers

/// The registered endpoints in Redis: one registry in partition 0 of the deliveries.
package struct RedisEndpointStore: EndpointStore {
    /// The number of endpoints returned at once: a few hundred KiB.
    private static let page = 200
    /// The number of endpoints that a list checks at once: less than a millisecond of Redis.
    private static let readsMax = 1000
    /// The number of removed endpoints remembered; a reader that has missed more reads the whole registry.
    private static let removedMax = 1000

    private let redis: RedisPartitions
    private let countMax: Int
    private let logger: Logger

    /// Creates the endpoint store of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    ///   - durability: how many replicas must have a change before the response; `nil` requires none.
    ///   - masterKeys: encrypt secrets and the values of headers.
    ///   - sealing: whether encryption is allowed; `nil` for always.
    ///   - countMax: the most endpoints in total.
    ///   - logger: receives records that cannot be read.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        masterKeys: MasterKeys = .none,
        sealing: SealingGate? = nil,
        countMax: Int = Endpoint.countMax,
        logger: Logger
    ) {
        self.countMax = countMax
        self.logger = logger
        redis = RedisPartitions(
            client: client,
            keys: layout.deliveryKeys,
            scripts: scripts,
            logger: logger,
            durability: durability,
            masterKeys: masterKeys,
            sealing: sealing
        )
    }

    package func version() async throws(StoreError) -> Int64 {
        try await redis.number(RegistryField.version.rawValue, of: redis.keys.registry)
    }

    package func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        let reply = try await redis.array(
            .endpointChanges,
            [RedisArgument(version), isContinuing ? "1" : "0", RedisArgument(Self.page)]
        )
        guard reply.count >= 4, let reset = reply[0].int,
            let upper = Int64(safe: reply[1].string ?? ""), let more = reply[2].int,
            let removed = reply[3].array
        else { throw .corrupt("endpoint_changes answered nonsense") }
        let read = try endpoints(reply.dropFirst(4))
        return EndpointChanges(
            isReset: reset == 1,
            version: upper,
            hasMore: more == 1,
            endpoints: read.found,
            removed: removed.compactMap { $0.string.map(EndpointID.init(unchecked:)) },
            foreign: read.foreign
        )
    }

    package func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation {
        let reply = try await redis.array(
            .endpointCreate,
            [
                "create", .string(endpoint.id.description),
                .string(endpoint.account.description),
                .string(try json(endpoint)), RedisArgument(countMax),
                .string(request?.key ?? ""), .string(request?.fingerprint ?? ""),
                RedisArgument(EndpointRequest.span.ms), RedisArgument(accountMax),
                .string(endpoint.name ?? ""),
            ],
            isDurable: true
        )
        switch reply.first?.string {
        case "created":
            guard reply.count == 2, let now = Int64(safe: reply[1].string ?? "") else { break }
            return .created(endpoint.stamped(Timestamp(ms: now)))
        case "repeated":
            guard reply.count == 4, let id = reply[1].string, let value = reply[2].string,
                let made = try decoded(id, value)
            else { break }
            return .repeated(made, isUntouched: reply[3].int == 1)
        case "conflict": return .conflict
        case "exists": return .exists
        case "full": return .tooMany
        case "crowded": return .tooManyOfAccount
        case "named":
            guard reply.count == 2, let holder = reply[1].string else { break }
            return .nameTaken(by: EndpointID(unchecked: holder))
        default: break
        }
        throw .corrupt("endpoint_write answered nonsense")
    }

    package func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint? {
        let reply = try await redis.array(
            .endpointRead,
            [.string(id.description), .string(accounts.scriptArgument)]
        )
        if reply.isEmpty { return nil }
        guard reply.count == 3, let value = reply[0].string,
            let version = Int64(safe: reply[1].string ?? ""),
            let now = Int64(safe: reply[2].string ?? ""),
            let endpoint = try decoded(id.description, value)
        else { throw .corrupt("the endpoint \(id) is not understood") }
        return StoredEndpoint(endpoint: endpoint, version: version, now: Timestamp(ms: now))
    }

    package func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        let reply = try await redis.array(
            .endpointWrite,
            [
                "replace", .string(endpoint.id.description),
                .string(try json(endpoint)), RedisArgument(version),
                .string(endpoint.name ?? ""),
            ],
            isDurable: true
        )
        let outcome = reply.first?.string
        if outcome == "changed" { return .changed }
        guard reply.count == 2, let value = reply[1].string else {
            throw .corrupt("endpoint_write answered nonsense")
        }
        if outcome == "named" { return .nameTaken(by: EndpointID(unchecked: value)) }
        guard let replaced = try decoded(endpoint.id.description, value) else {
            throw .corrupt("endpoint_write answered nonsense")
        }
        return .replaced(replaced)
    }

    package func remove(
        _ id: EndpointID,
        version: Int64?
    ) async throws(StoreError) -> EndpointRemoval {
        let reply = try await redis.array(
            .endpointWrite,
            [
                "remove", .string(id.description), RedisArgument(Self.removedMax),
                .string(version.map { "\($0)" } ?? ""),
            ],
            isDurable: true
        )
        guard let removal = reply.first?.string.flatMap(EndpointRemoval.init(rawValue:)) else {
            throw .corrupt("endpoint_write answered nonsense")
        }
        return removal
    }

    package func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint> {
        var position = try cursor.map(Self.position) ?? ""
        var items: [Endpoint] = []
        repeat {
            let reply = try await redis.array(
                .endpointList,
                [
                    .string(accounts.scriptArgument), .string(position),
                    RedisArgument(limit - items.count), RedisArgument(Self.readsMax),
                ]
            )
            items += try endpoints(reply.dropFirst()).found
            position = reply.first?.string ?? ""
        } while !position.isEmpty && items.count < limit
        return ListPage(
            items: items,
            next: position.isEmpty ? nil : Base64URL.encode(position.utf8)
        )
    }

    package func counts(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        guard !accounts.isEmpty else { return [] }
        let names = accounts.map { RedisArgument.string($0.description) }
        let counts = try await redis.array(.endpointCount, names).map { $0.int ?? 0 }
        guard counts.count == accounts.count else {
            throw .corrupt("endpoint_count answered nonsense")
        }
        return counts
    }

    private static func position(_ cursor: String) throws(StoreError) -> String {
        guard let bytes = Base64URL.decode(cursor),
            let position = String(validating: bytes, as: UTF8.self), position.utf8.count <= 128,
            position.contains(" ep_")
        else { throw .unknownCursor }
        return position
    }

    private func json(_ endpoint: Endpoint) throws(StoreError) -> String {
        try redis.sealing?.check()
        return try EndpointRecord.json(endpoint, sealedBy: redis.masterKeys)
    }

    /// Reads a value; `nil` if it is not understood.
    ///
    /// An endpoint that cannot be decrypted is neither returned without secrets nor treated as missing. Readers of the
    /// registry wait until the key is there, so no recipient is skipped.
    private func decoded(_ id: String, _ value: String) throws(StoreError) -> Endpoint? {
        do throws(SealError) {
            return try EndpointRecord.endpoint(id, value, openedBy: redis.masterKeys)
        } catch {
            throw .unavailable("\(error)")
        }
    }

    private func endpoints(
        _ values: ArraySlice<RedisValue>
    ) throws(StoreError) -> (found: [Endpoint], foreign: [ForeignEndpoint]) {
        var (found, foreign): ([Endpoint], [ForeignEndpoint]) = ([], [])
        for index in stride(from: values.startIndex, to: values.endIndex - 1, by: 2) {
            let id = values[index].string ?? ""
            let value = values[index + 1].string ?? ""
            if let endpoint = try decoded(id, value) {
                found.append(endpoint)
            } else {
                // One record of another release must not hide all the others.
                logger.error("endpoint not understood", metadata: ["endpoint": "\(id)"])
                foreign.append(EndpointRecord.foreign(id, value))
            }
        }
        return (found, foreign)
    }
}
