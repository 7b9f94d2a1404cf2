import Foundation
import Synchronization
import Testing

@testable import ProgramOutput

/// Tests of log output to a pipe, a full device and a closed pipe.
@Suite("LogOutput")
struct LogOutputTests {
    /// The numbers of dropped lines by reason.
    private final class Drops: Sendable {
        private let counts = Mutex<[LogOutput.DropReason: Int]>([:])

        func add(_ reason: LogOutput.DropReason, _ count: Int) {
            counts.withLock { $0[reason, default: 0] += count }
        }

        func of(_ reason: LogOutput.DropReason) -> Int { counts.withLock { $0[reason] ?? 0 } }
    }

    private static func observed(_ output: LogOutput) -> Drops {
        let drops = Drops()
        output.observe(
            onDrop: { drops.add($0, $1) },
            report: { "dropped \($0)\n" }
        )
        return drops
    }

    @Test("lines reach the descriptor in order")
    func order() {
        let pipe = Pipe()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for number in 0..<100 { output.append("line \(number)\n") }
        output.flush()
        let read = pipe.fileHandleForReading.availableData
        #expect(
            String(decoding: read, as: UTF8.self)
                == (0..<100).map { "line \($0)\n" }.joined()
        )
    }

    @Test("a stalled reader blocks no caller, and dropped lines are counted and reported later")
    func stalledReader() throws {
        let pipe = Pipe()
        let output = LogOutput(
            descriptor: pipe.fileHandleForWriting.fileDescriptor,
            bytesMax: 100_000
        )
        let drops = Self.observed(output)
        let line = String(repeating: "x", count: 999) + "\n"
        // The pipe holds 64 KiB, the thread one batch of at most 100 KB, and the queue another.
        for _ in 0..<1000 { output.append(line) }
        let dropped = drops.of(.full)
        #expect(dropped > 600)

        // A thread that is slow to start may report the number in two parts.
        var read = Data()
        var lines: [Substring] = []
        var reported = 0
        while lines.count < 1000 - dropped || reported < dropped {
            read += pipe.fileHandleForReading.availableData
            let all = String(decoding: read, as: UTF8.self).split(separator: "\n")
            lines = all.filter { $0.hasPrefix("x") && $0.utf8.count == 999 }
            reported = all.compactMap { Int($0.dropFirst("dropped ".count)) }.reduce(0, +)
        }
        #expect(reported == dropped)
        #expect(lines.count == 1000 - dropped)
    }

    @Test("a full disk does not end the program, and its lines are counted")
    func fullDisk() throws {
        #if os(Linux)
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let output = LogOutput(descriptor: full.fileDescriptor)
        let drops = Self.observed(output)
        output.append("lost\n")
        output.flush()
        #expect(drops.of(.failed) == 1)
        #endif
    }

    @Test("a closed pipe does not end the program, and its lines are counted")
    func closedPipe() throws {
        StandardStreams.prepare(program: "tests")
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let drops = Self.observed(output)
        for _ in 0..<10 { output.append("lost\n") }
        output.flush()
        #expect(drops.of(.failed) == 10)
    }
}
