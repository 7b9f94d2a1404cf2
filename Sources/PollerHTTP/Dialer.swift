import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TLSErrorText

/// Makes connections for origins and reports the outcome on their event loop.
protocol ConnectionMaker: Sendable {
    /// Connects to one of `addresses`, in this order; called on `eventLoop`, where it also reports.
    func dial(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        on eventLoop: any EventLoop
    )
}

/// Makes connections: the socket, TLS under the host's name, and the handlers.
///
/// Several addresses of a host are raced (``AddressRace``), in the order of an ``AddressHistory``.
///
/// TLS offers only `http/1.1`. A server that supports only HTTP/2 rejects that, or responds with
/// frames; the failure says so. Sessions are not resumed, because swift-nio-ssl cannot do that.
/// Keeping connections open saves the handshakes instead.
///
/// A class, because the TLS context is made once, when it is first needed. Reading the system's
/// certificates takes some 20 ms, on a thread that may block.
final class Dialer: ConnectionMaker {
    private let tls: TLSConfiguration
    private let openMs: Int64
    /// Maps an address to the one that is really connected; tests use it to simulate a wrong peer.
    private let connectAddress: @Sendable (SocketAddress) -> SocketAddress
    private let context = Mutex<EventLoopFuture<NIOSSLContext>?>(nil)

    init(
        trustRoots: NIOSSLTrustRoots,
        authorities: [NIOSSLCertificate],
        openMs: Int64,
        connectAddress: @escaping @Sendable (SocketAddress) -> SocketAddress
    ) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = trustRoots
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        tls.applicationProtocols = ["http/1.1"]
        self.tls = tls
        self.openMs = openMs
        self.connectAddress = connectAddress
    }

    func dial(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        on eventLoop: any EventLoop
    ) {
        guard !addresses.isEmpty else {
            origin.failedToOpen(for: owner, to: [], .other("the host has no address"))
            return
        }
        guard origin.origin.isSecure else {
            race(addresses, origin, owner, nil, eventLoop)
            return
        }
        tlsContext(eventLoop).hop(to: eventLoop).assumeIsolated().whenComplete { made in
            switch made {
            case .success(let context):
                self.race(addresses, origin, owner, context, eventLoop)
            case .failure(let error):
                origin.failedToOpen(for: owner, to: addresses, .tls(TLSErrorText.text(of: error)))
            }
        }
    }

    private func race(
        _ addresses: [SocketAddress],
        _ origin: OriginConnections,
        _ owner: HTTPExchange?,
        _ tls: NIOSSLContext?,
        _ eventLoop: any EventLoop
    ) {
        AddressRace(
            addresses,
            from: origin,
            for: owner,
            tls: tls,
            openMs: openMs,
            connectAddress: connectAddress,
            on: eventLoop
        ).advance()
    }

    private func tlsContext(_ eventLoop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        context.withLock { context in
            if let context { return context }
            let made = NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { [tls] in
                try Self.context(tls)
            }
            context = made
            return made
        }
    }

    /// Makes a TLS context.
    ///
    /// A container image may have no system certificates; then only the added ones are trusted.
    private static func context(_ tls: TLSConfiguration) throws -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: tls)
        } catch {
            guard case .certificates(let added)? = tls.additionalTrustRoots.first else {
                throw error
            }
            var alone = tls
            alone.trustRoots = .certificates(added)
            alone.additionalTrustRoots = []
            return try NIOSSLContext(configuration: alone)
        }
    }
}
