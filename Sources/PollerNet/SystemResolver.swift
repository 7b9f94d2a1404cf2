import Foundation
package import NIOCore
import NIOPosix

/// Resolves as the operating system does (`getaddrinfo`), off the cooperative threads.
package struct SystemResolver: AddressResolver {
    /// A resolver that takes longer has lost its name servers; the attempt is made again later.
    private static let timeout = TimeAmount.seconds(5)
    /// More addresses than this are of no use to an attempt that tries one of them.
    private static let addressesMax = 16

    /// A resolver; it holds nothing.
    package init() {}

    package func addresses(
        host: String,
        port: Int
    ) async throws(ResolutionFailure) -> [SocketAddress] {
        // `getaddrinfo` cannot be interrupted: at the timeout its thread is left to finish alone.
        let promise = MultiThreadedEventLoopGroup.singleton.any().makePromise(
            of: Result<[SocketAddress], ResolutionFailure>.self
        )
        let expiry = promise.futureResult.eventLoop.scheduleTask(in: Self.timeout) {
            promise.succeed(.failure(ResolutionFailure(reason: "no answer within 5 s")))
        }
        NIOThreadPool.singleton.submit { state in
            let isActive = state == .active
            let result =
                isActive
                ? Self.lookUp(host, port)
                : .failure(ResolutionFailure(reason: "the process is shutting down"))
            promise.succeed(result)
            expiry.cancel()
        }
        do {
            return try await promise.futureResult.get().get()
        } catch let failure as ResolutionFailure {
            throw failure
        } catch {
            throw ResolutionFailure(reason: "\(error)")
        }
    }

    private static func lookUp(
        _ host: String,
        _ port: Int
    ) -> Result<[SocketAddress], ResolutionFailure> {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            return .failure(ResolutionFailure(reason: unsafe String(cString: gai_strerror(code))))
        }
        defer { unsafe freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next, found.count < addressesMax {
            if let address = unsafe socketAddress(entry) { found.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return found.isEmpty ? .failure(ResolutionFailure(reason: "no address")) : .success(found)
    }

    private static func socketAddress(_ entry: UnsafeMutablePointer<addrinfo>) -> SocketAddress? {
        guard let raw = unsafe entry.pointee.ai_addr else { return nil }
        switch unsafe entry.pointee.ai_family {
        case AF_INET:
            return unsafe raw.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        case AF_INET6:
            return unsafe raw.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        default: return nil
        }
    }
}
