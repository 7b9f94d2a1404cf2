import Dispatch
import Foundation
import Synchronization

/// Ends this process on SIGTERM, SIGINT and SIGHUP together with its children and temporary files.
///
/// *Problem.* A signal ends a program at once: no `defer` runs, and its children continue. Those
/// that do not watch their standard input, such as redis-server and nginx, run until somebody finds
/// them.
///
/// *Approach.* Each child is registered from its start to its end, and each temporary file until it
/// is removed. A signal is received on a thread of its own, because the measuring program blocks
/// others. The children get SIGTERM first, so that they can end their own children. From then on no
/// child is started, so none is missed.
///
/// *Rejected*: cancelling the program's task, because a measurement does not look for it until its
/// span is over; a process group, because the terminal signals the one in the foreground only.
///
/// A program that drains on signals does not call ``listen()``, and ends its children itself.
package enum SignalledEnd {
    private struct State: Sendable {
        var children: Set<Int32> = []
        var files: Set<String> = []
        var isEnding = false
    }

    /// How long children may take after SIGTERM: a redis-server writes its file in less.
    private static let patience = Duration.seconds(2)
    /// How long they may take after SIGKILL, unless a disk does not respond.
    private static let killPatience = Duration.seconds(1)

    private static let state = Mutex(State())
    private static let deletion = Mutex(())
    private static let queue = DispatchQueue(label: "signals")
    private static let sources = Mutex<[any DispatchSourceSignal]>([])

    /// Receives the signals from now on.
    package static func listen() {
        sources.withLock { sources in
            for number in [SIGTERM, SIGINT, SIGHUP] where number != SIGHUP || !isIgnored(number) {
                sources.append(source(for: number))
            }
        }
    }

    /// Returns whether this process was started with a signal that it ignores, as by `nohup`.
    private static func isIgnored(_ number: Int32) -> Bool {
        let former = signal(number, SIG_IGN)
        let isIgnored =
            unsafe unsafeBitCast(former, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
        if !isIgnored { signal(number, SIG_DFL) }
        return isIgnored
    }

    private static func source(for number: Int32) -> any DispatchSourceSignal {
        #if canImport(Darwin)
        // There a source does not replace the default action, which ends the process.
        signal(number, SIG_IGN)
        #endif
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { end(128 + number) }
        source.resume()
        return source
    }

    /// Does not return if a signal is ending this process.
    ///
    /// Call it before an exit because of an error, which may be that a child has ended.
    package static func awaitIfEnding() {
        while state.withLock(\.isEnding) { usleep(10_000) }
    }

    /// Registers a temporary file or folder.
    package static func add(temporary path: String) {
        state.withLock { _ = $0.files.insert(path) }
    }

    /// Removes a temporary file or folder; one that cannot be removed is left to the system.
    package static func remove(temporary path: String) {
        delete(path)
        state.withLock { _ = $0.files.remove(path) }
    }

    /// Deletes a file or folder, one at a time.
    ///
    /// The end of a child also ends its owner, which deletes its folder. Two threads in one folder would both stop at
    /// the first file that the other one has deleted.
    private static func delete(_ path: String) {
        deletion.withLock { _ in try? FileManager.default.removeItem(atPath: path) }
    }

    /// Starts a child and registers it until it has ended.
    static func start(_ process: Process) throws {
        process.terminationHandler = { process in
            let pid = process.processIdentifier
            state.withLock { _ = $0.children.remove(pid) }
        }
        try state.withLock { state in
            guard !state.isEnding else { throw ProgramError("this program is ending") }
            try withUnblockedSignals { try process.run() }
            state.children.insert(process.processIdentifier)
        }
    }

    private static func end(_ status: Int32) -> Never {
        state.withLock { $0.isEnding = true }
        send(SIGTERM, patience)
        send(SIGKILL, killPatience)
        // Now, because one may be added while the children end.
        let files = state.withLock(\.files)
        for file in files { delete(file) }
        _exit(status)
    }

    /// Sends a signal to the running children, and waits for their ends.
    private static func send(_ number: Int32, _ patience: Duration) {
        for child in state.withLock(\.children) { kill(child, number) }
        let end = ContinuousClock.now + patience
        while !state.withLock(\.children.isEmpty), ContinuousClock.now < end { usleep(2000) }
    }
}
