import Foundation

/// CPU time of this process, all threads, user and system (getrusage(2)).
enum ProcessCPU {
    /// The seconds so far.
    static var seconds: Double { used(by: RUSAGE_SELF) }

    /// The seconds of ended child processes.
    static var endedChildrenSeconds: Double { used(by: RUSAGE_CHILDREN) }

    #if canImport(Glibc)
    private typealias Who = __rusage_who
    #else
    private typealias Who = Int32
    #endif

    private static func used(by who: Who) -> Double {
        var usage = rusage()
        #if canImport(Glibc)
        unsafe getrusage(__rusage_who_t(who.rawValue), &usage)
        #else
        unsafe getrusage(who, &usage)
        #endif
        func seconds(_ time: timeval) -> Double {
            Double(time.tv_sec) + Double(time.tv_usec) / 1e6
        }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
