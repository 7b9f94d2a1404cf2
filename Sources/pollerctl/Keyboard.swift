import Dispatch
import Foundation
import Synchronization

/// The keys of the person at the terminal, each as it is pressed.
enum Keyboard {
    /// How the terminal was before; what it becomes again, however the program ends.
    private static let savedSettings = Mutex<termios?>(nil)
    /// Written before the terminal is given back.
    private static let restoreText = Mutex("")
    private static let signalSources = Mutex<[any DispatchSourceSignal]>([])

    /// Begins to read; the stream never ends, and without a terminal it gives nothing.
    ///
    /// `restoreText` is written to the terminal at the end, such as what leaves the alternate screen.
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
            // Reading waits for ever, which no thread of the pool may.
            Thread.detachNewThread {
                while let data = try? FileHandle.standardInput.read(upToCount: 1),
                    let byte = data.first
                {
                    keys.yield(Character(Unicode.Scalar(byte)))
                }
            }
        }
    }

    /// Ends the program as the signal would have, but with the terminal as it was.
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
