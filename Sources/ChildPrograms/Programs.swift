import Foundation

/// Why a program cannot be had; the message says what to do.
package struct ProgramError: Error, CustomStringConvertible {
    /// For the operator.
    package let description: String

    /// Says what is wrong and what to do.
    package init(_ description: String) {
        self.description = description
    }
}

/// Finds the programs that belong to this one, and becomes them.
package enum Programs {
    /// The file of one of our own programs: beside the one that runs, in `POLLER_BIN_DIR`, or on `PATH`, in this order.
    ///
    /// Beside first, because what was built together fits together; a path may lead to an older one.
    ///
    /// - Parameters:
    ///   - name: The program's name.
    ///   - otherwise: What else the operator may do when it is missing; the end of a sentence.
    /// - Returns: The path of its file.
    /// - Throws: ``ProgramError`` when it is nowhere.
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
                + "(swift build --product \(name)) or install it beside this program\(otherwise)"
        )
    }

    /// The file of a program that the system brings; nil when it is not installed.
    package static func installed(_ name: String) -> String? { first(name, in: path) }

    /// Becomes another program in this very process, which keeps its id, its terminal and its environment.
    ///
    /// - Throws: ``ProgramError`` when the system refuses; otherwise nothing of this program is left.
    package static func replaceProcess(
        with file: String,
        _ arguments: [String]
    ) throws(ProgramError) -> Never {
        var words = unsafe ([file] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        withUnblockedSignals { _ = unsafe execv(file, words) }
        throw ProgramError("\(file) cannot be run: \(unsafe String(cString: strerror(errno)))")
    }

    /// Where this program's file is; links are followed, for a link may stand without the others.
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

/// Starts a program that receives signals.
///
/// Swift's worker threads block nearly every signal, and a program inherits the mask of the thread
/// that starts it: a redis-server started from a task would never notice SIGTERM.
func withUnblockedSignals<Result>(_ start: () throws -> Result) rethrows -> Result {
    var none = sigset_t()
    var before = sigset_t()
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try start()
}
