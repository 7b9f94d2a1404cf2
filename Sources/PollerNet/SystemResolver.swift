import Foundation
package import NIOCore
import PollerQueue
import Synchronization

/// Resolves the addresses of a host; called for every attempt, so that the judged address is the
/// connected one.
///
/// It may cache addresses for seconds: each attempt judges them again.
package protocol AddressResolver: Sendable {
    /// Returns the addresses in the order in which to try them.
    ///
    /// - Throws: ``ResolutionFailure``.
    func addresses(
        host: String,
        port: Int
    ) async throws(ResolutionFailure) -> [SocketAddress]
}

/// A host has no address now.
package struct ResolutionFailure: Error, Hashable, Sendable {
    /// The resolver's own text.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

package typealias LookupAnswer = Result<[SocketAddress], ResolutionFailure>

/// Resolves names as the operating system does (`getaddrinfo`), on separate threads.
///
/// `getaddrinfo` cannot be interrupted, so each lookup has its own thread, and their number is
/// limited. ``LookupPlan`` schedules the lookups and caches the answers. A caller waits 5 s at
/// most; its lookup continues without it. Addresses, in any spelling, need no lookup.
package final class SystemResolver<C: Clock>: AddressResolver where C.Duration == Duration {
    /// The state behind the lock: the plan, and the callers that wait for an answer.
    private struct State: Sendable {
        var plan = LookupPlan<C.Instant>()
        var callers = 0
        /// The waiting callers by number, and their answers.
        var wakers: [Int: Waker<C>] = [:]
        var answers: [Int: LookupAnswer] = [:]
    }

    /// The immediate result of a request.
    private enum Lookup {
        case cached(LookupAnswer)
        case pending(caller: Int)
    }

    /// How long a caller waits.
    ///
    /// A resolver that takes longer has lost its name servers; the attempt is repeated later.
    private var timeout: Duration { .seconds(5) }

    private let clock: C
    private let lookUp: @Sendable (String) -> LookupAnswer
    private let state = Mutex(State())

    /// Makes a resolver with an empty cache.
    ///
    /// `lookUp` finds the addresses of a name, with port 0, and may block its thread for any time.
    package init(
        clock: C,
        lookUp: @escaping @Sendable (String) -> LookupAnswer = { SystemLookup.addresses(of: $0) }
    ) {
        self.clock = clock
        self.lookUp = lookUp
    }

    package func addresses(
        host: String,
        port: Int
    ) async throws(ResolutionFailure) -> [SocketAddress] {
        // Most names contain a letter that no number has, and need not be parsed as an address.
        let isName = host.utf8.contains { (UInt8(ascii: "g")...UInt8(ascii: "w")).contains($0) }
        let answer: LookupAnswer
        if !isName, let written = SystemLookup.address(writtenAs: host) {
            answer = .success([written])
        } else {
            answer = await self.answer(host)
        }
        return try answer.get().map { address in
            var address = address
            address.port = port
            return address
        }
    }

    private func answer(_ host: String) async -> LookupAnswer {
        let waker = Waker(clock: clock)
        let lookup = state.withLock { state in
            state.callers += 1
            if let known = state.plan.lookUp(host, caller: state.callers, at: clock.now) {
                return Lookup.cached(known)
            }
            state.wakers[state.callers] = waker
            return .pending(caller: state.callers)
        }
        switch lookup {
        case .cached(let answer): return answer
        case .pending(let caller):
            start()
            await waker.sleep(until: clock.now.advanced(by: timeout))
            let answer = state.withLock { state in
                state.plan.cancel(host, caller: caller)
                state.wakers[caller] = nil
                return state.answers.removeValue(forKey: caller)
            }
            let reason = Task.isCancelled ? "the request was cancelled" : "no answer within 5 s"
            return answer ?? .failure(ResolutionFailure(reason: reason))
        }
    }

    private func start() {
        for name in state.withLock({ $0.plan.start() }) {
            Thread.detachNewThread { [self] in
                finish(name, lookUp(name))
            }
        }
    }

    private func finish(_ name: String, _ answer: LookupAnswer) {
        let waiting = state.withLock { state in
            let callers = state.plan.finish(name, answer, at: clock.now)
            for caller in callers { state.answers[caller] = answer }
            return callers.compactMap { state.wakers[$0] }
        }
        for waker in waiting { waker.wake() }
        start()
    }
}

/// Calls `getaddrinfo`.
package enum SystemLookup {
    /// An attempt has no use for more addresses than this.
    private static let addressesMax = 16

    /// Returns the addresses from the system's sources: files and name servers.
    ///
    /// Blocks meanwhile.
    package static func addresses(of name: String) -> LookupAnswer {
        find(name, flags: 0)
    }

    /// Parses an address in any spelling that the system knows: `127.1`, `0x7f000001`, `::1`.
    ///
    /// Returns `nil` for a name. Never blocks.
    static func address(writtenAs host: String) -> SocketAddress? {
        guard case .success(let found) = find(host, flags: AI_NUMERICHOST) else { return nil }
        return found.first
    }

    private static func find(_ host: String, flags: Int32) -> LookupAnswer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = flags
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(clamping: SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
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
