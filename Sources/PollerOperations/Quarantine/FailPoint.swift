#if DEBUG
import Synchronization
#endif

/// A point at which end-to-end tests crash a reader of a debug build, in place of an unknown bug.
///
/// `POLLER_PLANTED_TRAP=outbox:src_1,hint:src_2` crashes a process when its reader handles an entry about this source.
/// A release build has no such point.
package enum FailPoint {
    #if DEBUG
    private static let active = Mutex<Set<String>>([])
    #endif

    /// Activates fail points, `reader:subject` separated by commas.
    package static func activate(_ text: String?) {
        #if DEBUG
        let names = (text ?? "").split(separator: ",").map(String.init)
        active.withLock { $0 = Set(names) }
        #endif
    }

    /// Crashes the process if the fail point of this entry is active.
    @inline(__always)
    package static func check(_ reader: SuspectReader, _ subject: @autoclosure () -> String) {
        #if DEBUG
        let isEmpty = active.withLock(\.isEmpty)
        if isEmpty { return }
        let name = "\(reader.rawValue):\(subject())"
        let isActive = active.withLock { $0.contains(name) }
        precondition(!isActive, "an active fail point: \(name)")
        #endif
    }
}
