import NIOCore
import NIOPosix
import NIOSSL

/// Connects to the addresses of a host until one of them responds (RFC 8305 §5, "Happy Eyeballs").
///
/// *Problem*: a host has several addresses, and one of them rejects connections or does not
/// respond. Sequential attempts cost a whole timeout for each address that does not respond.
/// Simultaneous ones cost the server several connections each time. *Approach*: the next attempt
/// starts when one fails, or after ``delay``. The first connection is used; the others are closed
/// before a byte is sent. All attempts together take no longer than one may. *Outcome*: exactly
/// one, reported to the origin: ``HTTPConnection/connected(to:)`` or
/// ``OriginConnections/failedToOpen(for:to:_:)`` with the error of the last attempt.
///
/// A class, because its attempts and its timer refer to it; confined to its event loop.
final class AddressRace {
    /// The "Connection Attempt Delay" that RFC 8305 §8 recommends.
    private static let delay = TimeAmount.milliseconds(250)

    private let addresses: [SocketAddress]
    private let origin: OriginConnections
    private let owner: HTTPExchange?
    private let tls: NIOSSLContext?
    private let eventLoop: any EventLoop
    /// Maps an address to the one that is really connected; tests use it to simulate a wrong peer.
    private let connectAddress: @Sendable (SocketAddress) -> SocketAddress
    private let end: NIODeadline
    /// The number of started attempts, and of those without an outcome.
    private var started = 0
    private var pending = 0
    /// The channels of attempts without an outcome, by the number of the attempt.
    private var channels: [Int: any Channel] = [:]
    private var isDecided = false
    private var next: Scheduled<Void>?

    /// Makes a race to `addresses`, in this order; there must be at least one.
    init(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        tls: NIOSSLContext?,
        openMs: Int64,
        connectAddress: @escaping @Sendable (SocketAddress) -> SocketAddress,
        on eventLoop: any EventLoop
    ) {
        self.addresses = addresses
        self.origin = origin
        self.owner = owner
        self.tls = tls
        self.connectAddress = connectAddress
        self.eventLoop = eventLoop
        end = .now() + .milliseconds(openMs)
    }

    /// Starts the next attempt, if there is one left.
    func advance() {
        next?.cancel()
        next = nil
        guard !isDecided, started < addresses.count else { return }
        let number = started
        started += 1
        pending += 1
        connect(number)
        // An attempt may fail at once, and then the next one has already started.
        guard !isDecided, next == nil, started < addresses.count else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        next = eventLoop.scheduleTask(in: Self.delay) { bound.value.advance() }
    }

    private func connect(_ number: Int) {
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        let left = max(end - .now(), .milliseconds(1))
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(left)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try bound.value.prepare(channel, number)
                }
            }
            .connect(to: connectAddress(addresses[number]))
        connecting.assumeIsolated().whenComplete { connected in
            self.pending -= 1
            self.channels[number] = nil
            switch connected {
            case .success(let channel): self.connected(channel, self.addresses[number])
            case .failure(let error): self.failed(self.addresses[number], error)
            }
        }
    }

    private func prepare(_ channel: any Channel, _ number: Int) throws {
        channels[number] = channel
        let pipeline = channel.pipeline.syncOperations
        if let tls { try pipeline.addHandler(Self.handler(tls, origin.origin.host)) }
        try HTTPConnection(origin, for: owner, to: addresses).install(in: pipeline)
    }

    private func connected(_ channel: any Channel, _ address: SocketAddress) {
        guard !isDecided else { return channel.close(promise: nil) }
        decide()
        origin.reached(address)
        let pipeline = channel.pipeline.syncOperations
        guard let connection = try? pipeline.handler(type: HTTPConnection.self) else {
            // The connection was closed, and its pipeline emptied, before this check.
            channel.close(promise: nil)
            origin.failedToOpen(for: owner, to: addresses, .closed)
            return
        }
        connection.connected(to: address)
    }

    private func failed(_ address: SocketAddress, _ error: any Error) {
        guard !isDecided else { return }
        origin.missed(address)
        if started < addresses.count {
            advance()
        } else if pending == 0 {
            decide()
            origin.failedToOpen(for: owner, to: addresses, HTTPFailure(connecting: error))
        }
    }

    /// Closes the attempts that have no outcome yet; their outcome is ignored.
    private func decide() {
        isDecided = true
        next?.cancel()
        next = nil
        let late = channels.values
        channels = [:]
        for channel in late { channel.close(promise: nil) }
    }

    /// Sets the host name for SNI.
    ///
    /// For an IP address it is omitted, because SNI allows names only; the address is still
    /// verified.
    private static func handler(
        _ context: NIOSSLContext,
        _ host: String
    ) throws -> NIOSSLClientHandler {
        // An error means that the host is a name.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}
