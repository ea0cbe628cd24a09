;;; emacs.el --- tsdb.el in dap-mode, without a screen  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0
;;
;;     emacs --batch -q --load emacs.el TSDB.EL TSDB SOURCE LINE TRACE
;;
;; A replay with a breakpoint at a line: to it, a command on, one back, to the beginning.  Prints
;; a line for each stop: the command's number, and file and line of the frame that is shown.

(let ((words (append command-line-args-left nil)))
  (setq command-line-args-left nil
        dap-breakpoints-file (expand-file-name "breakpoints")
        lsp-session-file (expand-file-name "sessions"))
  (load (expand-file-name (nth 0 words)))
  (setq tsdb-program (nth 1 words))
  (find-file (nth 2 words))
  (goto-char (point-min))
  (forward-line (1- (string-to-number (nth 3 words))))
  (defvar trace (nth 4 words)))

(defvar stops 0)
(add-hook 'dap-stopped-hook (lambda (_) (setq stops (1+ stops))))

(defun until (what condition)
  "Wait for CONDITION, a function; WHAT it is says the error."
  (let ((end (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) end) (error "%s has not come" what))
      (accept-process-output nil 0.05))))

(defun position ()
  (let (answer)
    (dap--send-message (dap--make-request "tsdb/position" nil) (lambda (r) (setq answer r)) (dap--cur-session))
    (until "the position" (lambda () answer))
    (gethash "seq" (gethash "answer" (gethash "body" answer)))))

(defun stopped (n)
  "Print where stop N is; at the beginning there is no frame."
  (until (format "stop %d" n) (lambda () (>= stops n)))
  (let ((seq (position)))
    (unless (zerop seq)
      (until "a frame" (lambda () (dap--debug-session-active-frame (dap--cur-session)))))
    (let ((frame (dap--debug-session-active-frame (dap--cur-session))))
      (princ (if (zerop seq) "begin\n"
               (format "#%d %s\n" seq (gethash "name" frame)))))))

(dap-breakpoint-toggle)
(tsdb-replay trace)
(stopped 1)
(dap-continue (dap--cur-session) (dap--debug-session-thread-id (dap--cur-session)))
(stopped 2)
(dap-next (dap--cur-session))
(stopped 3)
(tsdb-step-back (dap--cur-session))
(stopped 4)
(tsdb-reverse-continue (dap--cur-session))
(stopped 5)
(dap-disconnect (dap--cur-session))
(until "the end" (lambda () (not (process-live-p (dap--debug-session-proc (dap--cur-session))))))
(princ "done\n")
