import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TLSWords

/// Makes connections for origins, which hear what became of it on their event loop.
protocol ConnectionMaker: Sendable {
    /// Connects to the first of `addresses` that answers; called on `eventLoop`, and tells there.
    func dial(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        on eventLoop: any EventLoop
    )
}

/// Makes connections: the socket, TLS under the host's name, and the handlers.
///
/// Of a host's several addresses the next is tried when one fails, or is silent for
/// ``Dialer/patienceMs``; the one that answered is tried first the next time. (Racing them, RFC 8305,
/// would save a first poll some seconds where v6 is announced and dead; not worth its timers.)
///
/// TLS offers `http/1.1` alone. A server that speaks nothing but HTTP/2 refuses that, or answers with
/// frames: a failure that says so. Sessions are not resumed, as swift-nio-ssl has no way to: what a
/// handshake costs is saved by keeping connections.
///
/// A class, because the TLS context is made once, when it is first needed: reading the system's
/// certificates takes some 20 ms, on a thread that may block.
final class Dialer: ConnectionMaker {
    /// How long an address may be silent while there are others.
    private static let patienceMs: Int64 = 2000

    private let tls: TLSConfiguration
    private let openMs: Int64
    /// Where connections really lead: a test leads them astray.
    private let leads: @Sendable (SocketAddress) -> SocketAddress
    private let context = Mutex<EventLoopFuture<NIOSSLContext>?>(nil)

    init(
        trustRoots: NIOSSLTrustRoots,
        authorities: [NIOSSLCertificate],
        openMs: Int64,
        leads: @escaping @Sendable (SocketAddress) -> SocketAddress
    ) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = trustRoots
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        tls.applicationProtocols = ["http/1.1"]
        self.tls = tls
        self.openMs = openMs
        self.leads = leads
    }

    func dial(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        on eventLoop: any EventLoop
    ) {
        guard origin.origin.isSecure else {
            dial(addresses[...], origin, owner, nil, eventLoop)
            return
        }
        tlsContext(eventLoop).hop(to: eventLoop).assumeIsolated().whenComplete { made in
            switch made {
            case .success(let context):
                self.dial(addresses[...], origin, owner, context, eventLoop)
            case .failure(let error):
                origin.failedToOpen(for: owner, .tls(TLSWords.text(of: error)))
            }
        }
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

    /// An image may have no certificates of its own: then those that were added are trusted alone.
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

    private func dial(
        _ addresses: ArraySlice<SocketAddress>,
        _ origin: OriginConnections,
        _ owner: HTTPExchange?,
        _ tls: NIOSSLContext?,
        _ eventLoop: any EventLoop
    ) {
        guard let address = addresses.first else {
            origin.failedToOpen(for: owner, .other("the host has no address"))
            return
        }
        let rest = addresses.dropFirst()
        let host = origin.origin.host
        let bound = NIOLoopBound((origin, owner), eventLoop: eventLoop)
        let timeoutMs = rest.isEmpty ? openMs : min(openMs, Self.patienceMs)
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(.milliseconds(timeoutMs))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(Self.handler(tls, host)) }
                    let (origin, owner) = bound.value
                    try HTTPConnection(origin, for: owner).install(in: pipeline)
                }
            }
            .connect(to: leads(address))
        connecting.assumeIsolated().whenComplete { connected in
            switch connected {
            case .success(let channel):
                origin.reached(address)
                let pipeline = channel.pipeline.syncOperations
                guard let connection = try? pipeline.handler(type: HTTPConnection.self) else {
                    // Closed again, and its pipeline emptied, before it could be looked at.
                    channel.close(promise: nil)
                    origin.failedToOpen(for: owner, .closed)
                    return
                }
                connection.connected(to: address)
            case .failure where !rest.isEmpty: self.dial(rest, origin, owner, tls, eventLoop)
            case .failure(let error):
                origin.failedToOpen(for: owner, HTTPFailure(connecting: error))
            }
        }
    }

    /// Names the server for SNI; an address is verified without, as SNI allows names only.
    private static func handler(
        _ context: NIOSSLContext,
        _ host: String
    ) throws -> NIOSSLClientHandler {
        // An error only says that it is a name.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}
