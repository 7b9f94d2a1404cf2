package import ArgumentParser
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The standard output and error of a program.
///
/// *Exit status*: a command whose output cannot be written has failed. A reader that has closed its pipe,
/// as in `… | head`, ends the program quietly with 0. Every other error, such as a full disk, ends it with
/// 74 (`EX_IOERR` of sysexits.h) and a message on standard error.
package enum StandardStreams {
    private static let output = FileDescriptorWriter(descriptor: STDOUT_FILENO)
    private static let error = FileDescriptorWriter(descriptor: STDERR_FILENO)
    private static let program = Mutex("")

    /// Prepares the streams; each program calls it first.
    ///
    /// A closed pipe becomes an error of the write instead of a signal. A descriptor that is closed at
    /// start is opened on `/dev/null`, or the first socket would get its number and the program's output.
    ///
    /// - Parameter name: the program's name in messages.
    package static func prepare(program name: String) {
        program.withLock { $0 = name }
        _ = signal(SIGPIPE, SIG_IGN)
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // For reading only: writes to a closed output keep failing. The lowest free number is this one.
            _ = unsafe open("/dev/null", O_RDONLY)
        }
    }

    /// Writes text to standard output at once.
    ///
    /// Ends the program when that fails; see the type's *Exit status*.
    package static func write(_ text: String) {
        do throws(FileDescriptorWriter.Failure) {
            try output.write(Array(text.utf8))
        } catch {
            guard error.code != EPIPE else { exit(0) }
            let name = program.withLock { $0 }
            writeError("\(name): the output could not be written: \(error.text)\n")
            exit(74)
        }
    }

    /// Writes a line to standard output at once; as ``write(_:)``.
    package static func printLine(_ line: String) { write(line + "\n") }

    /// Writes text to standard output and returns whether that was possible.
    ///
    /// For programs that must continue without their output.
    @discardableResult
    package static func tryWrite(_ text: String) -> Bool {
        (try? output.write(Array(text.utf8))) != nil
    }

    /// Ends the program.
    fileprivate static func end(_ status: Int32) -> Never { exit(status) }

    /// Writes text to standard error, if that is possible.
    package static func writeError(_ text: String) {
        // A program without standard error cannot report that.
        try? error.write(Array(text.utf8))
    }
}

extension ParsableCommand {
    /// Ends the program as ``exit(withError:)`` does, with a checked write of help, version or message.
    package static func end(with error: any Error) -> Never {
        let text = fullMessage(for: error)
        let status = exitCode(for: error)
        if !text.isEmpty {
            if status.isSuccess {
                StandardStreams.printLine(text)
            } else {
                StandardStreams.writeError(text + "\n")
            }
        }
        StandardStreams.end(status.rawValue)
    }
}
