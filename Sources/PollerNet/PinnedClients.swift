package import AsyncHTTPClient
package import NIOCore
import NIOPosix
package import NIOSSL
import Synchronization

/// HTTP clients that can reach one address each, under the name a certificate must prove.
///
/// AsyncHTTPClient resolves names itself, but its `dnsOverride` maps a host to an address: the
/// connection goes there, while Host header, SNI and certificate check keep the name. The
/// override belongs to a client, not to a request, hence one client for each (host, address),
/// the least recently used ones closed. Rejected: an HTTP client of our own on NIO, which would
/// have to grow pooling and HTTP/2 again. Should a host ever be spelt in a way the override
/// misses, the check of each new connection's peer address fails before a request is written.
///
/// A class, because attempts that run at the same time share connections.
package final class PinnedClients: Sendable {
    /// A receiver with one address costs one client; an idle one is a few kilobytes and no socket.
    private static let idleMax = 256
    /// More than a process ever has under way to one host.
    private static let connectionsMax = 1024

    /// What a client is for: one address, under one name.
    ///
    /// Two names at one address are two clients: each must prove its own certificate.
    private struct Key: Hashable, Sendable {
        let host: String
        let address: IPAddress
    }

    /// A client, how many use it, and when it was used last; only one without users may be closed.
    private struct Entry: Sendable {
        let client: HTTPClient
        /// Requests under way.
        var users: Int
        /// The number of its last request, of all that were made here.
        var lastUse: Int
    }

    /// What the lock guards: the clients, and a count of uses that orders them by age.
    private struct State: Sendable {
        var entries: [Key: Entry] = [:]
        var uses = 0
        var isClosed = false
    }

    /// The connection did not lead where it was meant to.
    package struct WrongPeer: Error {}

    private let trustRoots: NIOSSLTrustRoots
    private let state = Mutex(State())

    /// Clients that believe the certificates of `trustRoots`.
    package init(trustRoots: NIOSSLTrustRoots) {
        self.trustRoots = trustRoots
    }

    /// Closes the clients that are still open, without waiting.
    deinit {
        for entry in state.withLock({ $0.entries.values }) { _ = entry.client.shutdown() }
    }

    /// Runs `body` with a client that reaches `host` at `address` only; nil once closed.
    package func withClient<R>(
        host: String,
        address: SocketAddress,
        _ body: (HTTPClient) async -> R
    ) async -> R? {
        guard let ip = IPAddress(address), let text = address.ipAddress else { return nil }
        let key = Key(host: host, address: ip)
        guard let client = take(key, addressText: text) else { return nil }
        let result = await body(client)
        for idle in giveBack(key) { await close(idle) }
        return result
    }

    /// Closes every client; requests under way fail.
    package func close() async {
        let clients = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [:] }
            return state.entries.values.map(\.client)
        }
        for client in clients { await close(client) }
    }

    private func close(_ client: HTTPClient) async {
        // Fails only when it is closed already or requests are cut off, which is what is wanted.
        try? await client.shutdown()
    }

    private func take(_ key: Key, addressText: String) -> HTTPClient? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.uses += 1
            var entry =
                state.entries[key]
                ?? Entry(client: makeClient(key, addressText), users: 0, lastUse: 0)
            entry.users += 1
            entry.lastUse = state.uses
            state.entries[key] = entry
            return entry.client
        }
    }

    /// Returns the clients to close.
    private func giveBack(_ key: Key) -> [HTTPClient] {
        state.withLock { state in
            state.entries[key]?.users -= 1
            guard state.entries.count > Self.idleMax,
                let oldest = state.entries.filter({ $0.value.users == 0 })
                    .min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return [] }
            state.entries[oldest.key] = nil
            return [oldest.value.client]
        }
    }

    private func makeClient(_ key: Key, _ addressText: String) -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = trustRoots
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(10)),
            connectionPool: .init(idleTimeout: .seconds(30))
        )
        // Endpoints at one host share a pool: who hangs there must not keep the others from a
        // connection. How many go out at once is the lanes' to say.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            Self.connectionsMax
        // The queue repeats attempts, with backoff and a record of each.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = [key.host: addressText]
        let checkPeer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.remoteAddress.flatMap(IPAddress.init) == key.address
                ? channel.eventLoop.makeSucceededVoidFuture()
                : channel.eventLoop.makeFailedFuture(WrongPeer())
        }
        configuration.http1_1ConnectionDebugInitializer = checkPeer
        configuration.http2ConnectionDebugInitializer = checkPeer
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration
        )
    }
}
