#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The limit of open files and sockets of this process.
package enum OpenFiles {
    /// Raises the limit to the maximum that the system permits; returns the new limit.
    ///
    /// The default limit is 1,024 nearly everywhere, for programs that keep sockets in sets of that
    /// size (select(2)). No program here does, and a gateway has a socket for each client. The hard
    /// limit is set by the operator and is not changed.
    @discardableResult
    package static func raiseLimit() -> Int {
        #if canImport(Glibc)
        let resource = Int32(clamping: RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        let given = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        // If the system refuses, the limit is unchanged.
        guard unsafe setrlimit(resource, &limit) == 0 else { return Int(clamping: given) }
        return Int(clamping: limit.rlim_cur)
    }
}
