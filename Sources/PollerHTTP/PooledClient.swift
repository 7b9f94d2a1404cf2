import NIOCore
package import NIOPosix
package import NIOSSL
import Synchronization

/// An HTTP/1.1 client for high request rates: a connection pool per origin and event loop, no task
/// and one continuation per request.
///
/// *Problem*: polls are single GET requests. The tasks, executor hops and delegates of a general
/// client cost several times as much as the request itself. *Approach*: NIO's codec, one small
/// handler that follows a pure state machine (``ConnectionState``), and all work of a request on
/// one event loop. That is the loop it was called on, if any; with the loop as the task's executor
/// the continuation runs there too. Otherwise it is the loop that is fixed for its origin. Loops
/// share nothing. *Order*: a connection serves one request after the other; requests share no
/// connection. *Retries*: only a GET whose connection had served before and closed before a byte
/// arrived; once. *Cancelling* a task closes the connection of its request, so no other request can
/// get its response. *Not supported*: redirects, cookies, proxies, decompression, HTTP/2 (see
/// ``Dialer``).
package final class PooledClient: Sendable {
    private let group: MultiThreadedEventLoopGroup
    /// In a fixed order, from which origins choose.
    private let loops: [(any EventLoop, NIOLoopBoundBox<LoopConnections>)]
    private let loopIndices: [ObjectIdentifier: Int]
    private let ids = Atomic<UInt64>(0)
    private let isClosed = Atomic<Bool>(false)

    /// Makes a client that trusts `trustRoots` and in addition `authorities`; it connects later.
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

    /// Closes the open connections without waiting.
    deinit {
        for (loop, connections) in loops { loop.execute { connections.value.close() } }
    }

    /// Sends a request and reads its response; returns `nil` once closed.
    ///
    /// The request of a cancelled task ends with ``HTTPFailure/cancelled`` at once.
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

    /// Returns the current event loop, or the one that is fixed for an origin, because its
    /// connections are there.
    private func loopIndex(for origin: HTTPOrigin) -> Int {
        let here = group.any()
        if here.inEventLoop, let number = loopIndices[ObjectIdentifier(here)] { return number }
        return Int(bitPattern: UInt(bitPattern: origin.hashValue) % UInt(bitPattern: loops.count))
    }

    /// Closes every connection; requests in progress fail, later ones return `nil`.
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

/// Whether a request was cancelled before its event loop started it.
private final class CancellationFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    var isCancelled: Bool { isSet.load(ordering: .sequentiallyConsistent) }

    func cancel() { isSet.store(true, ordering: .sequentiallyConsistent) }
}
