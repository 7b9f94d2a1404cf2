import NIOCore
package import NIOPosix
package import NIOSSL
import Synchronization

/// An HTTP/1.1 client for requests of which there are many: a connection pool for each origin and
/// event loop, no task and one continuation a request.
///
/// *Problem*: what polls are made of is one GET after another, and a general client's tasks, hops and
/// delegates cost several times what the GET costs.
/// *Approach*: NIO's codec, one small handler that obeys a pure state machine (``ConnectionState``),
/// and everything of a request on one event loop: the one it was called on, if it was called from one
/// (with the loop as the task's executor its continuation runs there, too), else the one that its
/// origin always has. Loops share nothing.
/// *Order*: a connection serves one request after the other; requests share no connection.
/// *Repeating*: only a GET whose connection had served before and died before a byte came; once.
/// *Cancelling* a task closes the connection its request was on: nobody else can get its answer.
/// *Never*: redirects, cookies, proxies, decompression, HTTP/2 (see ``Dialer``).
///
/// A class, because whoever calls it shares its connections.
package final class PooledClient: Sendable {
    private let group: MultiThreadedEventLoopGroup
    /// In an order that stays, for origins to choose from.
    private let loops: [(any EventLoop, NIOLoopBoundBox<LoopConnections>)]
    private let loopIndices: [ObjectIdentifier: Int]
    private let ids = Atomic<UInt64>(0)
    private let isClosed = Atomic<Bool>(false)

    /// A client that trusts `trustRoots` and, besides, `authorities`; nothing is connected yet.
    package convenience init(
        trustRoots: NIOSSLTrustRoots = .default,
        authorities: [NIOSSLCertificate] = [],
        limits: ConnectionLimits = ConnectionLimits(),
        group: MultiThreadedEventLoopGroup = .singleton
    ) {
        self.init(
            trustRoots: trustRoots,
            authorities: authorities,
            limits: limits,
            group: group,
            connectAddress: { $0 }
        )
    }

    init(
        trustRoots: NIOSSLTrustRoots,
        authorities: [NIOSSLCertificate] = [],
        limits: ConnectionLimits,
        group: MultiThreadedEventLoopGroup,
        connectAddress: @escaping @Sendable (SocketAddress) -> SocketAddress
    ) {
        self.group = group
        let dialer = Dialer(
            trustRoots: trustRoots,
            authorities: authorities,
            openMs: limits.openMs,
            connectAddress: connectAddress
        )
        loops = group.makeIterator().map { loop in
            let connections = LoopConnections(loop, limits, dialer)
            return (loop, .makeBoxSendingValue(connections, eventLoop: loop))
        }
        loopIndices = Dictionary(
            uniqueKeysWithValues: loops.enumerated().map { (ObjectIdentifier($1.0), $0) }
        )
    }

    /// Closes the connections that are still there, without waiting.
    deinit {
        for (loop, connections) in loops { loop.execute { connections.value.close() } }
    }

    /// Sends a request and reads its answer; nil once closed.
    ///
    /// A cancelled task's request ends with ``HTTPFailure/cancelled`` at once.
    package func send(_ call: HTTPCall) async -> HTTPResult? {
        guard !isClosed.load(ordering: .relaxed) else { return nil }
        let id = ids.add(1, ordering: .relaxed).newValue
        let (loop, connections) = loops[loopIndex(for: call.origin)]
        let flag = CancellationFlag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if loop.inEventLoop {
                    connections.value.start(AwaitedExchange(id, call, continuation: continuation))
                    if flag.isCancelled { connections.value.cancel(id) }
                } else {
                    loop.execute {
                        connections.value.start(
                            AwaitedExchange(id, call, continuation: continuation)
                        )
                        if flag.isCancelled { connections.value.cancel(id) }
                    }
                }
            }
        } onCancel: {
            flag.cancel()
            loop.execute { connections.value.cancel(id) }
        }
    }

    /// The loop that this runs on, or the one that an origin always has: its connections are there.
    private func loopIndex(for origin: HTTPOrigin) -> Int {
        let here = group.any()
        if here.inEventLoop, let number = loopIndices[ObjectIdentifier(here)] { return number }
        return Int(bitPattern: UInt(bitPattern: origin.hashValue) % UInt(bitPattern: loops.count))
    }

    /// Closes every connection; requests under way fail, later ones have no outcome.
    package func close() async {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        for (loop, connections) in loops {
            // A loop that has ended has closed its connections.
            try? await loop.submit { connections.value.close() }.get()
        }
    }
}

/// A request that a task waits for.
private final class AwaitedExchange: HTTPExchange {
    private var continuation: CheckedContinuation<HTTPResult, Never>?

    init(_ id: UInt64, _ call: HTTPCall, continuation: CheckedContinuation<HTTPResult, Never>) {
        self.continuation = continuation
        super.init(id, call)
    }

    override func complete(with result: HTTPResult) {
        continuation.take()?.resume(returning: result)
    }
}

/// Whether a request was given up before its event loop had heard of it.
///
/// A class, because the one who cancels and the one who begins share it.
private final class CancellationFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    var isCancelled: Bool { isSet.load(ordering: .sequentiallyConsistent) }

    func cancel() { isSet.store(true, ordering: .sequentiallyConsistent) }
}
