// Log lines never stop the work they describe.
//
// Problem: a log disk fills up, the reader of a log pipe stalls or ends. A write from the thread that logs
// then blocks an event loop, so that API and probes stop answering, or it fails.
// Approach: a line is appended to a bounded queue in memory, and one thread writes the queue to standard
// error. Lines that do not fit the queue, or that cannot be written, are dropped and counted. The next
// line that is written is preceded by one that gives the number of dropped lines.
// After a crash the lines in the queue are lost: some milliseconds of log while the reader keeps up.

import Dispatch
import Foundation
import Synchronization

/// A queue of log lines with a thread that writes them to a file descriptor.
package final class LogOutput: Sendable {
    /// The reason that lines were dropped, as the label `reason` of the metric.
    package enum DropReason: String, Sendable, CaseIterable {
        /// The reader takes lines more slowly than they come.
        case full
        /// The system refused the write: a full disk, a closed pipe.
        case failed
    }

    package static let standardError = LogOutput(descriptor: STDERR_FILENO)

    /// Bytes of lines in the queue: about ten thousand lines, which is little for a process.
    private static let bytesMax = 2 << 20

    /// The state behind the lock.
    private struct Queue: Sendable {
        var lines: [[UInt8]] = []
        var bytes = 0
        /// Lines taken by the thread and not written yet.
        var isWriting = false
        /// Lines dropped since the last line that reported it.
        var dropped = 0
        var onDrop: (@Sendable (DropReason, Int) -> Void)?
        var report: (@Sendable (Int) -> String)?
        var isStarted = false
        /// A part of a line was written: the next one begins with a line feed.
        var isInsideLine = false
    }

    private let writer: FileDescriptorWriter
    private let bytesMax: Int
    private let queue = Mutex(Queue())
    private let arrivals = DispatchSemaphore(value: 0)

    /// Output to a file descriptor; the thread starts with the first line.
    package init(descriptor: Int32, bytesMax: Int? = nil) {
        writer = FileDescriptorWriter(descriptor: descriptor)
        self.bytesMax = bytesMax ?? Self.bytesMax
    }

    /// Sets the receiver of the counts of dropped lines, and the text of the line that reports them.
    ///
    /// - Parameters:
    ///   - onDrop: receives each reason with a number of lines; must return at once and not log.
    ///   - report: makes a line, with its end, of the number of dropped lines.
    package func observe(
        onDrop: @escaping @Sendable (DropReason, Int) -> Void,
        report: @escaping @Sendable (Int) -> String
    ) {
        queue.withLock { queue in
            queue.onDrop = onDrop
            queue.report = report
        }
    }

    /// Appends a line, with its end, or drops it when the queue is full.
    ///
    /// Never blocks on the reader.
    package func append(_ line: String) {
        let bytes = Array(line.utf8)
        let step = queue.withLock { queue -> Step in
            guard queue.bytes + bytes.count <= bytesMax else {
                queue.dropped = queue.dropped &+ 1
                return .drop(queue.onDrop)
            }
            queue.lines.append(bytes)
            queue.bytes += bytes.count
            // The thread takes all lines at once, so one signal is enough for all that follow.
            guard queue.lines.count == 1 else { return .none }
            defer { queue.isStarted = true }
            return queue.isStarted ? .wake : .start
        }
        switch step {
        case .none: break
        case .drop(let onDrop): onDrop?(.full, 1)
        case .start:
            start()
            arrivals.signal()
        case .wake: arrivals.signal()
        }
    }

    /// The action that follows an appended line, outside the lock.
    private enum Step {
        case none
        case start
        case wake
        case drop((@Sendable (DropReason, Int) -> Void)?)
    }

    /// Waits until the lines in the queue are written, at most for `limit`; used when a program
    /// ends.
    package func flush(within limit: Duration = .seconds(1)) {
        let pause = Duration.milliseconds(2)
        for _ in 0..<Int(limit / pause) {
            let isEmpty = queue.withLock { $0.lines.isEmpty && !$0.isWriting }
            if isEmpty { return }
            Thread.sleep(forTimeInterval: pause / .seconds(1))
        }
    }

    private func start() {
        let thread = Thread { [self] in
            while true {
                arrivals.wait()
                writeAll()
            }
        }
        thread.name = "log"
        thread.start()
    }

    private func writeAll() {
        let (lines, dropped, report, isInsideLine) = queue.withLock { queue in
            defer {
                queue.lines = []
                queue.bytes = 0
                queue.dropped = 0
                queue.isInsideLine = false
            }
            queue.isWriting = true
            return (queue.lines, queue.dropped, queue.report, queue.isInsideLine)
        }
        var text: [UInt8] = isInsideLine ? [UInt8(ascii: "\n")] : []
        if dropped > 0, let report { text += Array(report(dropped).utf8) }
        for line in lines { text += line }
        do throws(FileDescriptorWriter.Failure) {
            try writer.write(text)
            queue.withLock { $0.isWriting = false }
        } catch {
            let onDrop = queue.withLock { queue in
                queue.isWriting = false
                queue.dropped = queue.dropped &+ dropped &+ lines.count
                queue.isInsideLine = error.isPartial || isInsideLine
                return queue.onDrop
            }
            onDrop?(.failed, lines.count)
        }
    }
}
