#if DEBUG
import Synchronization
#endif

/// A trap that end-to-end tests plant in a reader of a debug build, in place of an unknown bug.
///
/// `POLLER_PLANTED_TRAP=outbox:src_1,hint:src_2` crashes a process when its reader handles an entry about this source.
/// A release build has no such trap.
package enum PlantedTrap {
    #if DEBUG
    private static let planted = Mutex<Set<String>>([])
    #endif

    /// Plants traps, `reader:subject` separated by commas.
    package static func plant(_ text: String?) {
        #if DEBUG
        let names = (text ?? "").split(separator: ",").map(String.init)
        planted.withLock { $0 = Set(names) }
        #endif
    }

    /// Crashes the process when a trap is planted for this entry.
    @inline(__always)
    package static func check(_ reader: SuspectReader, _ subject: @autoclosure () -> String) {
        #if DEBUG
        let isEmpty = planted.withLock(\.isEmpty)
        if isEmpty { return }
        let name = "\(reader.rawValue):\(subject())"
        let isPlanted = planted.withLock { $0.contains(name) }
        precondition(!isPlanted, "a planted trap: \(name)")
        #endif
    }
}
