import Dispatch
import Foundation
import Synchronization

/// Reads single keys from the terminal.
enum Keyboard {
    /// The terminal's settings, which are restored however the program exits.
    private static let savedSettings = Mutex<termios?>(nil)
    /// Written to the terminal before its settings are restored.
    private static let restoreText = Mutex("")
    private static let signalSources = Mutex<[any DispatchSourceSignal]>([])

    /// Starts reading keys.
    ///
    /// The stream never ends; without a terminal it stays empty.
    ///
    /// `restoreText` is written at exit, for example to leave the alternate screen.
    static func keys(restoreText text: String = "") -> AsyncStream<Character> {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, Terminal.isInteractive,
            unsafe tcgetattr(STDIN_FILENO, &settings) == 0
        else { return AsyncStream { _ in } }
        savedSettings.withLock { $0 = settings }
        restoreText.withLock { $0 = text }
        atexit { Keyboard.restore() }
        signalSources.withLock { signalSources in
            for number in [SIGINT, SIGTERM, SIGHUP] {
                signalSources.append(exitSource(for: number))
            }
        }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        return AsyncStream { keys in
            // The read blocks, which is not allowed on the cooperative thread pool.
            Thread.detachNewThread {
                while let data = try? FileHandle.standardInput.read(upToCount: 1),
                    let byte = data.first
                {
                    keys.yield(Character(Unicode.Scalar(byte)))
                }
            }
        }
    }

    /// Exits with the signal's status after restoring the terminal.
    private static func exitSource(for number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { exit(128 + number) }
        source.resume()
        return source
    }

    private static func restore() {
        savedSettings.withLock { settings in
            guard var settings else { return }
            Terminal.write(restoreText.withLock(\.self))
            unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
    }
}
