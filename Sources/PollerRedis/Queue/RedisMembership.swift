import PollerIdentity
package import PollerQueue
package import RedisClient

/// The list of live processes, in Redis.
///
/// *Shape*: one hash in partition 0, owner → `<end ms> <roles>|<pid>|<host>|<version>|<started ms>|<in flight>|<owner>|
/// <store format that it writes>|<partitions that it knows>|<concurrency of a worker>|<digest of its upstreams and
/// channels>`. The last two are empty if there are none. Another hash has the processes that left within a day
/// (``KeyKind/departures``).
package struct RedisMembership: Membership {
    private let client: RedisClient
    private let keys: [String]
    private let scripts: Scripts

    /// Creates the process list of a cluster.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - layout: namespace and partitions, as verified at start.
    ///   - scripts: the live ones, or those of a test's clock.
    package init(client: RedisClient, layout: StoreLayout, scripts: Scripts = .live) {
        self.client = client
        self.scripts = scripts
        keys = layout.watchKeys.declared(0)
    }

    package func beat(_ member: Member, for span: Duration) async throws(StoreError) -> [Member] {
        try await run([
            .string(member.owner.description), RedisArgument(max(span.ms, 1)),
            .string(Self.text(of: member)),
        ])
    }

    package func announce(_ member: Member, for span: Duration) async throws(StoreError) {
        _ = try await run([
            .string(member.owner.description), RedisArgument(max(span.ms, 1)),
            .string(Self.text(of: member)), "1",
        ])
    }

    package func leave(_ owner: OwnerID) async throws(StoreError) {
        _ = try await run([.string(owner.description), "0", ""])
    }

    package func members() async throws(StoreError) -> [Member] {
        try await run(["", "0", ""])
    }

    package func departures() async throws(StoreError) -> [Departure] {
        try await texts(["", "0", "", "d"]).compactMap(Self.departure(of:))
            .sorted {
                ($1.at.ms, $0.member.owner.description) < ($0.at.ms, $1.member.owner.description)
            }
    }

    private func run(_ arguments: [RedisArgument]) async throws(StoreError) -> [Member] {
        try await texts(arguments).compactMap(Self.member(of:))
    }

    private func texts(_ arguments: [RedisArgument]) async throws(StoreError) -> [String] {
        let reply = try await client.run(.heartbeat, keys, arguments, scripts: scripts)
        return (reply.array ?? []).compactMap(\.string)
    }

    private static func departure(of text: String) -> Departure? {
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let at = Timestamp(stored: parts[0]),
            let how = DepartureCode(rawValue: parts[1]), let member = member(of: parts[2])
        else { return nil }
        return Departure(member, at: at, isClean: how == .clean)
    }

    private static func text(of member: Member) -> String {
        Packed.join([
            member.roles, String(member.pid), member.host, member.version,
            String(member.startedAt.ms), String(member.inFlight), member.owner.description,
            String(member.storeFormat), String(member.partitions),
            member.slots.map(String.init) ?? "", member.capabilities ?? "",
        ])
    }

    private static func member(of text: String) -> Member? {
        let parts = Packed.split(text)
        guard parts.count >= 11, let pid = Int(count: parts[1]),
            let started = Timestamp(stored: parts[4]), let inFlight = Int(count: parts[5]),
            let storeFormat = Int(count: parts[7]), let partitions = Int(count: parts[8])
        else { return nil }
        var member = Member(
            owner: OwnerID(unchecked: parts[6]),
            roles: parts[0],
            pid: pid,
            host: parts[2],
            version: parts[3],
            startedAt: started,
            inFlight: inFlight,
            slots: Int(count: parts[9]),
            storeFormat: storeFormat,
            partitions: partitions
        )
        member.capabilities = parts[10].isEmpty ? nil : parts[10]
        return member
    }
}
