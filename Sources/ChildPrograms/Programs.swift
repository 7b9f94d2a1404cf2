import Foundation

/// Why a program cannot be run; the message contains the remedy.
package struct ProgramError: Error, CustomStringConvertible {
    /// The message for the operator.
    package let description: String

    /// Makes an error from the problem and the remedy.
    package init(_ description: String) {
        self.description = description
    }
}

/// Finds the programs of this project, and replaces this process by them.
package enum Programs {
    /// Returns the file of a program of this project: next to the running one, in `POLLER_BIN_DIR`,
    /// or on `PATH`, in this order.
    ///
    /// The folder of the running program comes first, because programs built together match; `PATH`
    /// may lead to an older one.
    ///
    /// - Parameters:
    ///   - name: The program's name.
    ///   - otherwise: An alternative for the operator when it is missing; the end of a sentence.
    /// - Returns: The path of its file.
    /// - Throws: ``ProgramError`` when it is not found.
    package static func locate(
        _ name: String,
        otherwise: String = ""
    ) throws(ProgramError) -> String {
        let named = ProcessInfo.processInfo.environment["POLLER_BIN_DIR"]
        if let file = first(name, in: [executableFolder] + (named.map { [$0] } ?? []) + path) {
            return file
        }
        throw ProgramError(
            "\(name) is not in \(executableFolder), in POLLER_BIN_DIR or on PATH: build it "
                + "(swift build --product \(name)) or install it next to this program\(otherwise)"
        )
    }

    /// Returns the file of an installed program on `PATH`; `nil` if there is none.
    package static func installed(_ name: String) -> String? { first(name, in: path) }

    /// Replaces this process by another program, which keeps its process ID, terminal and
    /// environment.
    ///
    /// - Throws: ``ProgramError`` when the system refuses; otherwise it does not return.
    package static func replaceProcess(
        with file: String,
        _ arguments: [String]
    ) throws(ProgramError) -> Never {
        var words = unsafe ([file] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        withUnblockedSignals { _ = unsafe execv(file, words) }
        throw ProgramError("\(file) cannot be run: \(unsafe String(cString: strerror(errno)))")
    }

    /// The folder of this program's file.
    ///
    /// Links are resolved, because a link may be in a folder without the others.
    private static var executableFolder: String {
        let file =
            Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments.first ?? "")
        return file.resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    private static var path: [String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/usr/local/bin"
        return path.split(separator: ":").map(String.init)
    }

    private static func first(_ name: String, in folders: [String]) -> String? {
        folders.map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile(atPath:))
    }
}

/// Starts a program with all signals unblocked.
///
/// Swift's worker threads block nearly every signal, and a program inherits the mask of the thread
/// that starts it. A redis-server started from a task would never receive SIGTERM.
func withUnblockedSignals<Result>(_ start: () throws -> Result) rethrows -> Result {
    var none = sigset_t()
    var before = sigset_t()
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try start()
}
