package import Logging
import PollerIdentity
import PollerQueue
package import RedisClient

/// The libraries of functions in Redis.
///
/// Loads the library of this release and removes unused ones. Each release has its own library, so processes of two
/// releases can share a store. Without removal the libraries would add up, about 300 KB of Redis each. A process
/// records its library at start. A library is removed when no live process runs the release that recorded it, and
/// always ``retention`` after the last start with it. A process that still needs a removed library loads it with its next
/// call.
///
/// *Shape*: hash `<ns>functions`, name of the library → `<ms of the last start> <release>`.
package struct RedisFunctions: Sendable {
    /// How long a library is kept for a process that has not announced itself yet.
    static let grace = Duration.seconds(3600)
    /// How long a library is kept for a live process of a release that has been built several times.
    static let retention = Duration.seconds(30 * 86_400)

    private let client: RedisClient
    private let key: String
    private let membership: RedisMembership
    private let library: RedisLibrary
    private let logger: Logger

    /// Creates the library store of a cluster; `scripts` are the live ones, or those of a test's clock.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        logger: Logger
    ) {
        self.client = client
        self.logger = logger
        key = "\(layout.namespace):functions"
        membership = RedisMembership(client: client, layout: layout, scripts: scripts)
        library = scripts.library
    }

    /// Loads this release's library and removes those of releases that are gone.
    ///
    /// A Redis that rejects any of this does not prevent the start, because nothing depends on it.
    package func prepare(release: String) async {
        do throws(StoreError) {
            guard try await client.loaded(library) == nil else { return }
            let now = try await time()
            let noted =
                try await client.execute(RedisCommand("HGETALL", [.string(key)])).array ?? []
            _ = try await client.execute(
                RedisCommand(
                    "HSET",
                    [.string(key), .string(library.name), .string("\(now.ms) \(release)")]
                )
            )
            let liveReleases = Set(try await membership.members().map(\.version))
            for index in stride(from: 0, to: noted.count - 1, by: 2) {
                guard let name = noted[index].string, let note = noted[index + 1].string,
                    name != library.name, name.hasPrefix("\(Scripts.libraryPrefix)_"),
                    Self.isRemovable(note, liveReleases, now)
                else { continue }
                // Some masters may not have it.
                _ = try await client.executeOnMasters(
                    RedisCommand("FUNCTION", ["DELETE", .string(name)])
                )
                _ = try await client.execute(RedisCommand("HDEL", [.string(key), .string(name)]))
            }
        } catch {
            logger.debug("functions were not tidied up", metadata: ["error": "\(error)"])
        }
    }

    /// Returns whether a library of another release can be removed.
    static func isRemovable(_ note: String, _ liveReleases: Set<String>, _ now: Timestamp) -> Bool {
        let parts = note.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let noted = Timestamp(stored: parts[0]) else { return true }
        let age = now - noted
        return age > retention || (age > grace && !liveReleases.contains(String(parts[1])))
    }

    private func time() async throws(StoreError) -> Timestamp {
        let parts = try await client.execute(RedisCommand("TIME")).array?.compactMap(\.int) ?? []
        guard parts.count == 2 else { throw .corrupt("TIME was not answered with a time") }
        return Timestamp(time: parts)
    }
}
