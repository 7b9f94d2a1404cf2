import Foundation

/// CPU time of this process, all threads, user and system (getrusage(2)).
enum ProcessCPU {
    /// Seconds so far.
    static var seconds: Double {
        var usage = rusage()
        #if canImport(Glibc)
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        unsafe getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double {
            Double(time.tv_sec) + Double(time.tv_usec) / 1e6
        }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
