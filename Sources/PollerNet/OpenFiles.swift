#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// How many files and sockets this process may have open.
package enum OpenFiles {
    /// Takes what the system lets a process have, instead of what it gives one unasked; returns what that is.
    ///
    /// The limit that is given is 1,024 nearly everywhere, for programs that keep sockets in sets of that size
    /// (select(2)). None here does, and a gateway has a socket for each client. The hard limit is the operator's and
    /// stays.
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
        // Where the system refuses, it is as it was.
        guard unsafe setrlimit(resource, &limit) == 0 else { return Int(clamping: given) }
        return Int(clamping: limit.rlim_cur)
    }
}
